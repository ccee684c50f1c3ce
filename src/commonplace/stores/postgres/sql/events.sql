-- name: one_relay
-- Held until the relay's commit, so that ids are given in the order of commits.
SELECT pg_advisory_xact_lock(hashtextextended('commonplace events ' || current_schema(), 0));

-- name: is_waiting
-- Whether there is anything to relay.
SELECT EXISTS (SELECT 1 FROM outbox);

-- name: move
-- News become events: counted, logged, and told to the listeners when this is committed. How many rows were moved. A group
-- takes as many ids as it has events, and its row the last of them.
WITH waiting AS (
    DELETE FROM outbox WHERE number IN (SELECT number FROM outbox ORDER BY number LIMIT %(limit)s) RETURNING *
), placed AS (
    SELECT *, sum(coalesce(octet_length(records) / 16, 1)) OVER (ORDER BY number) AS place FROM waiting
), many AS (
    SELECT count(*) AS count, coalesce(max(place), 0) AS events FROM placed
), counted AS (
    UPDATE event_counter SET last = last + many.events FROM many WHERE many.count > 0
    RETURNING last - many.events AS before
), logged AS (
    INSERT INTO events (tenant, id, type, at, scope, actor, client, admins, data, records)
    SELECT w.tenant, counted.before + w.place, w.type, w.at, w.scope, w.actor, w.client, w.admins, w.data, w.records
    FROM placed w CROSS JOIN counted
)
SELECT count, CASE WHEN count > 0 THEN pg_notify(%(channel)s, '')::text END FROM many;

-- name: read
-- Events after a place, in order. A group is many: as many rows as it takes, of the first of which all but one may be told already.
SELECT id, tenant, type, at, scope, actor, client, admins, data, records
FROM (
    SELECT *, sum(many) OVER earlier - many - first_value(many) OVER earlier AS before
    FROM (
        SELECT *, coalesce(octet_length(records) / 16, 1) AS many FROM events
        WHERE id > %(after)s AND (%(tenant)s::text IS NULL OR tenant = %(tenant)s)
        ORDER BY id LIMIT %(limit)s
    ) AS sized
    WINDOW earlier AS (ORDER BY id)
) AS counted
WHERE before < %(limit)s
ORDER BY id;

-- name: range
-- The earliest id kept and the latest given.
SELECT coalesce((SELECT id - coalesce(octet_length(records) / 16, 1) + 1 FROM events ORDER BY id LIMIT 1), last + 1), last
FROM event_counter;

-- name: trim
-- From the beginning on, so that what is kept has no holes: an event that a slow clock dated too early stays with its
-- neighbours. How many each row was.
DELETE FROM events WHERE id < greatest(
    (SELECT last - %(keep)s + 1 FROM event_counter),
    (SELECT coalesce((SELECT e.id FROM events e WHERE e.at >= %(before)s ORDER BY e.id LIMIT 1), last + 1)
     FROM event_counter))
RETURNING coalesce(octet_length(records) / 16, 1);
