-- name: read_events
SELECT id, tenant, type, at, scope, actor, client, admins, data, records FROM events WHERE id > ? ORDER BY id LIMIT ?;

-- name: read_events_of
SELECT id, tenant, type, at, scope, actor, client, admins, data, records FROM events
WHERE tenant = ? AND id > ? ORDER BY id LIMIT ?;

-- name: event_range
-- The earliest kept and the latest given. SQLite remembers the latest also when its row is gone.
WITH given (latest) AS (SELECT ifnull(max(seq), 0) FROM sqlite_sequence WHERE name = 'events')
SELECT ifnull((SELECT id - ifnull(length(records) / 16, 1) + 1 FROM events ORDER BY id LIMIT 1), latest + 1), latest
FROM given;

-- name: trim_events
-- Always from the beginning on, so that the range has no hole: an event behind a younger one waits for it. How many each row was.
DELETE FROM events
WHERE id < ifnull((SELECT id FROM events WHERE at >= :before ORDER BY id LIMIT 1), 9223372036854775807)
    OR id <= (SELECT max(id) FROM events) - :keep
RETURNING ifnull(length(records) / 16, 1);
