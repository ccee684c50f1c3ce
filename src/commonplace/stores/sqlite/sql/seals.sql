-- name: last_seal
SELECT number, at, last, count, latest, hash, trimmed FROM seals ORDER BY number DESC LIMIT 1;

-- name: seal_after
-- The seal after a number, whatever its own number is.
SELECT number, at, last, count, latest, hash, trimmed FROM seals WHERE number > ? ORDER BY number LIMIT 1;

-- name: newest_seals
SELECT number, at, last, count, latest, hash, trimmed FROM seals ORDER BY number DESC LIMIT ?;

-- name: add_seal
INSERT INTO seals (number, at, last, count, latest, hash) VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT DO NOTHING;

-- name: totals
-- Rows under seals, those of them that are gone, and rows that wait.
SELECT ifnull(sum(count), 0), ifnull(sum(count) FILTER (WHERE trimmed), 0),
    (SELECT count(*) FROM audit WHERE number > ifnull((SELECT max(last) FROM seals), -9223372036854775808))
FROM seals;

-- name: last_trimmed
SELECT number, at, last, count, latest, hash, trimmed FROM seals WHERE trimmed ORDER BY number DESC LIMIT 1;

-- name: mark_trimmed
UPDATE seals SET trimmed = 1 WHERE number <= ?;

-- name: remove_rows
DELETE FROM audit WHERE number <= ?;
