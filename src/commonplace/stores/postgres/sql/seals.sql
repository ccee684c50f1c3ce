-- name: columns
number, at, last, count, latest, hash, trimmed

-- name: last_seal
-- Of all seals.
SELECT {columns} FROM seals ORDER BY number DESC LIMIT 1;

-- name: seal_after
-- The seal after a number, whatever its own number is.
SELECT {columns} FROM seals WHERE number > %(number)s ORDER BY number LIMIT 1;

-- name: newest_seals
-- So many of them.
SELECT {columns} FROM seals ORDER BY number DESC LIMIT %(limit)s;

-- name: last_trimmed
-- The last one whose rows are gone.
SELECT {columns} FROM seals WHERE trimmed ORDER BY number DESC LIMIT 1;

-- name: add_seal
-- Of two daemons the first one seals.
INSERT INTO seals (number, at, last, count, latest, hash)
VALUES (%(number)s, %(at)s, %(last)s, %(count)s, %(latest)s, %(hash)s) ON CONFLICT DO NOTHING;

-- name: wait_for_writers
-- Until no transaction can still bring a row with a smaller number than the largest there is. Not for long: who writes waits, too.
SET LOCAL lock_timeout = '1s';

-- name: keep_writers_out
-- Until the end of the transaction.
LOCK TABLE audit IN SHARE MODE;

-- name: frontier
-- The largest number that is there.
SELECT max(number) FROM audit;

-- name: audit_columns
-- As stores/seals.py hashes them.
number, id, at, tenant, actor, action, outcome, record, version, scope, run, door, key, client, address, request, details,
records

-- name: sealed_rows
-- Those after one number up to another.
SELECT {audit_columns} FROM audit WHERE number > %(after)s AND number <= %(last)s ORDER BY number LIMIT %(limit)s;

-- name: last_trim
-- The last row that tells of a trim.
SELECT {audit_columns} FROM audit WHERE action = %(action)s ORDER BY number DESC LIMIT 1;

-- name: totals
-- Rows under seals, those of them that are gone, and rows that wait.
SELECT coalesce(sum(count), 0)::bigint, coalesce(sum(count) FILTER (WHERE trimmed), 0)::bigint,
    (SELECT count(*) FROM audit WHERE number > coalesce((SELECT max(last) FROM seals), -9223372036854775808))
FROM seals;

-- name: one_trims
-- Of two daemons the second waits.
LOCK TABLE seals IN SHARE ROW EXCLUSIVE MODE;

-- name: mark_trimmed
-- Before their rows go.
UPDATE seals SET trimmed = true WHERE number <= %(number)s AND NOT trimmed;

-- name: remove_rows
-- Of the trimmed seals.
DELETE FROM audit WHERE number <= %(last)s;
