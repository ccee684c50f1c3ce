-- name: one_relay
-- Held until the relay's commit, so that ids are given in the order of commits.
SELECT pg_advisory_xact_lock(hashtextextended('commonplace events ' || current_schema(), 0));

-- name: is_waiting
-- Whether there is anything to relay.
SELECT EXISTS (SELECT 1 FROM outbox);

-- name: move
-- News become events: counted, logged, and told to the listeners when this is committed. How many.
WITH waiting AS (
    DELETE FROM outbox WHERE number IN (SELECT number FROM outbox ORDER BY number LIMIT %(limit)s) RETURNING *
), many AS (
    SELECT count(*) AS count FROM waiting
), counted AS (
    UPDATE event_counter SET last = last + many.count FROM many WHERE many.count > 0
    RETURNING last - many.count AS before
), logged AS (
    INSERT INTO events (tenant, id, type, at, scope, actor, client, admins, data)
    SELECT w.tenant, counted.before + row_number() OVER (ORDER BY w.number), w.type, w.at, w.scope, w.actor, w.client,
           w.admins, w.data
    FROM waiting w CROSS JOIN counted
)
SELECT count, CASE WHEN count > 0 THEN pg_notify(%(channel)s, '')::text END FROM many;

-- name: read
-- Events after a place, in order.
SELECT id, tenant, type, at, scope, actor, client, admins, data FROM events
WHERE id > %(after)s AND (%(tenant)s::text IS NULL OR tenant = %(tenant)s)
ORDER BY id LIMIT %(limit)s;

-- name: range
-- The earliest id kept and the latest given.
SELECT coalesce((SELECT min(id) FROM events), last + 1), last FROM event_counter;

-- name: trim
-- From the beginning on, so that what is kept has no holes: an event that a slow clock dated too early stays with its
-- neighbours.
DELETE FROM events WHERE id < greatest(
    (SELECT last - %(keep)s + 1 FROM event_counter),
    (SELECT coalesce((SELECT e.id FROM events e WHERE e.at >= %(before)s ORDER BY e.id LIMIT 1), last + 1)
     FROM event_counter));
