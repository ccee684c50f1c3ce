-- name: add_audit
INSERT INTO audit (
    id, at, tenant, actor, action, outcome, record, version, scope, run, door, key, client, address, request, details, records
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: audit
SELECT at, number, records, id, tenant, actor, action, outcome, record, version, scope, run, door, key, client, address,
    request, details
FROM audit;

-- name: in_group
-- Whether a group holds a record. The first and the last, which an index knows, tell it of most.
records IS NOT NULL AND substr(records, -16) >= :packed AND substr(records, 1, 16) <= :packed AND instr(records, :packed);

-- name: add_event
INSERT INTO events (tenant, type, at, scope, actor, client, admins, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: add_events
-- A group takes as many ids as it has events, and its row the last of them.
INSERT INTO events (tenant, type, at, scope, actor, client, admins, data, records, id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ? + ifnull((SELECT seq FROM sqlite_sequence WHERE name = 'events'), 0));

-- name: add_job
INSERT INTO jobs (
    id, tenant, kind, payload, created_at, created_by, updated_at, state, mark, client, not_before, max_attempts,
    line, attempts, done, total
) VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, 0, 0, 0);

-- name: add_unique_job
-- Unless one of the same mark has not ended, or one of the same id is there.
INSERT INTO jobs (
    id, tenant, kind, payload, created_at, created_by, updated_at, state, mark, client, not_before, max_attempts,
    line, attempts, done, total
) VALUES (?, ?, ?, ?, ?, ?, ?, 'queued', ?, ?, ?, ?, ?, 0, 0, 0)
ON CONFLICT DO NOTHING;

-- name: in_line
-- How many of these kinds, or of any, wait or run in a line, and how large they are. The length is known without the payload.
SELECT count(*), ifnull(sum(octet_length(payload)), 0) FROM jobs WHERE tenant = :tenant AND line = :line AND line IS NOT NULL AND state IN ('queued', 'running')
    AND (:kinds = '[]' OR kind IN (SELECT value FROM json_each(:kinds)));

-- name: trim_line
-- The oldest that ended give way to those there are.
DELETE FROM jobs WHERE number IN (
    SELECT number FROM jobs WHERE tenant = :tenant AND line = :line AND line IS NOT NULL AND state IN ('done', 'failed')
    ORDER BY updated_at, number
    LIMIT max(0, (SELECT count(*) FROM jobs WHERE tenant = :tenant AND line = :line AND line IS NOT NULL) - :kept)
);

-- name: add_reply
-- One that has expired is replaced. No row comes back where one is there that has not.
INSERT INTO replies (tenant, owner, key, fingerprint, expires_at, written)
VALUES (:tenant, :owner, :key, :fingerprint, :expires_at, :written)
ON CONFLICT (tenant, owner, key) DO UPDATE
SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, written = excluded.written
WHERE replies.expires_at <= :now RETURNING 1;

-- name: reply
SELECT fingerprint, expires_at, written FROM replies WHERE tenant = ? AND owner = ? AND key = ? AND expires_at > ?;

-- name: trim_replies
DELETE FROM replies WHERE expires_at <= ?;

-- name: claim
-- The first who writes to a session is its owner; that of an agent's session is whoever began that.
INSERT INTO members (tenant, scope, subject, owner, since)
SELECT :tenant, :scope, coalesce(
    (SELECT owner FROM sessions WHERE tenant = :tenant AND :scope LIKE 'session:%' AND id = substr(:scope, 9)), :subject
), 1, :since
WHERE NOT EXISTS (SELECT 1 FROM members WHERE tenant = :tenant AND scope = :scope);

-- name: is_member
SELECT EXISTS (SELECT 1 FROM members WHERE tenant = :tenant AND scope = :scope AND subject = :subject);
