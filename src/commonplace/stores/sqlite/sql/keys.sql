-- name: add_key
-- Nothing if the key that makes it was revoked meanwhile.
INSERT INTO keys (id, secret, name, tenant, role, created_at, created_by, scopes, expires_at, revoked_at, subject, agent, parent)
SELECT ?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13
WHERE NOT EXISTS (SELECT 1 FROM keys WHERE id = ?13 AND revoked_at IS NOT NULL);

-- name: key_by_secret
SELECT id, name, tenant, role, created_at, created_by, scopes, expires_at, revoked_at, subject, agent, parent FROM keys WHERE secret = ?;

-- name: is_over
-- Whether a session was ended before its time.
SELECT EXISTS (SELECT 1 FROM ended_sessions WHERE mark IN (:mark, :whose) AND until >= :ends);

-- name: end_sessions
-- What was ended stays so.
INSERT INTO ended_sessions (mark, until) VALUES (?, ?)
ON CONFLICT (mark) DO UPDATE SET until = max(until, excluded.until);

-- name: trim_sessions
DELETE FROM ended_sessions WHERE until <= ?;

-- name: keys
-- Of every tenant where none is named.
SELECT id, name, tenant, role, created_at, created_by, scopes, expires_at, revoked_at, subject, agent, parent FROM keys
WHERE :tenant IS NULL OR tenant = :tenant ORDER BY created_at DESC, number DESC;

-- name: revoke_key
-- And every key that it made, and those that they made.
WITH RECURSIVE line (id) AS (SELECT :id UNION SELECT keys.id FROM keys JOIN line ON keys.parent = line.id)
UPDATE keys SET revoked_at = ifnull(revoked_at, :at) WHERE id IN (SELECT id FROM line);

-- name: key
SELECT id, name, tenant, role, created_at, created_by, scopes, expires_at, revoked_at, subject, agent, parent FROM keys
WHERE id = ?;

-- name: add_user
INSERT INTO users (tenant, id, secret, created_at) VALUES (?, ?, ?, ?);

-- name: user
SELECT secret, created_at FROM users WHERE tenant = ? AND id = ?;

-- name: users
SELECT id, created_at FROM users WHERE tenant = ? ORDER BY id;

-- name: rotate_user
UPDATE users SET secret = :secret WHERE tenant = :tenant AND id = :id RETURNING created_at;

-- name: remove_user
DELETE FROM users WHERE tenant = ? AND id = ?;

-- name: add_owner
INSERT INTO owners (name, created_at, updated_at, memory_enabled, profile, tenant, kind, id)
VALUES (?, ?, ?, ?, ?, ?, ?, ?);

-- name: change_owner
UPDATE owners SET name = ?, created_at = ?, updated_at = ?, memory_enabled = ?, profile = ?
WHERE tenant = ? AND kind = ? AND id = ? AND (? IS NULL OR updated_at = ?);

-- name: owner
SELECT id, name, created_at, updated_at, memory_enabled, profile FROM owners WHERE tenant = ? AND kind = ? AND id = ?;

-- name: owners
SELECT id, name, created_at, updated_at, memory_enabled, profile FROM owners WHERE tenant = ? AND kind = ? ORDER BY name, id;

-- name: remove_owner
DELETE FROM owners WHERE tenant = ? AND kind = ? AND id = ?;
