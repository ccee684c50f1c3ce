-- name: key_columns
-- A key as the port speaks of it: the secret stays here.
tenant, id, name, role, scopes, created_at, created_by, expires_at, revoked_at, subject, agent, parent

-- name: owner_columns
-- An agent or a workspace.
tenant, kind, id, name, memory_enabled, created_at, updated_at, profile

-- name: one_at_a_time
-- Whoever makes or revokes keys: a key that is being made is not overlooked by who revokes the one that makes it.
SELECT pg_advisory_xact_lock(hashtextextended('commonplace keys ' || current_schema(), 0));

-- name: add_key
-- Nothing where its id or its secret is there, or the key that makes it was revoked meanwhile.
INSERT INTO keys (tenant, id, secret, name, role, scopes, created_at, created_by, expires_at, revoked_at, subject,
                  agent, parent)
SELECT %(tenant)s, %(id)s, %(secret)s, %(name)s, %(role)s, %(scopes)s::text[], %(created_at)s, %(created_by)s,
       %(expires_at)s, %(revoked_at)s, %(subject)s, %(agent)s, %(parent)s
WHERE NOT EXISTS (SELECT 1 FROM keys WHERE id = %(parent)s AND revoked_at IS NOT NULL)
ON CONFLICT DO NOTHING RETURNING id;

-- name: key_by_secret
-- Whose this is.
SELECT {key_columns} FROM keys WHERE secret = %(secret)s;

-- name: key_of_session
-- Whether the session was ended before its time, and whose key it stands for: one row, of a key or of none.
SELECT EXISTS (SELECT 1 FROM ended_sessions e WHERE e.mark = ANY(%(marks)s::text[]) AND e.until >= %(ends)s),
       {key_columns}
FROM (SELECT 1) AS here LEFT JOIN keys ON keys.secret = %(secret)s;

-- name: is_over
-- Whether a session was ended before its time.
SELECT EXISTS (SELECT 1 FROM ended_sessions e WHERE e.mark = ANY(%(marks)s::text[]) AND e.until >= %(ends)s);

-- name: end_sessions
-- What was ended stays so.
INSERT INTO ended_sessions AS held (mark, until) VALUES (%(mark)s, %(until)s)
ON CONFLICT (mark) DO UPDATE SET until = greatest(held.until, excluded.until) RETURNING mark;

-- name: trim_sessions
-- Those that would be over by themselves.
DELETE FROM ended_sessions WHERE until <= %(now)s;

-- name: keys
-- Newest first.
SELECT {key_columns} FROM keys WHERE %(tenant)s::text IS NULL OR tenant = %(tenant)s
ORDER BY created_at DESC, number DESC;

-- name: revoke_key
-- The first moment counts. Every key that it made goes with it, and those that they made.
WITH RECURSIVE line (id) AS (
    SELECT %(id)s::text COLLATE "C" UNION SELECT keys.id FROM keys JOIN line ON keys.parent = line.id
), revoked AS (
    UPDATE keys SET revoked_at = coalesce(revoked_at, %(at)s) WHERE id IN (SELECT id FROM line) RETURNING {key_columns}
)
SELECT {key_columns} FROM revoked WHERE id = %(id)s;

-- name: add_user
-- Nothing where the tenant has one of that id.
INSERT INTO users (tenant, id, secret, created_at) VALUES (%(tenant)s, %(id)s, %(secret)s, %(created_at)s)
ON CONFLICT DO NOTHING RETURNING id;

-- name: user
-- With the hash of their key.
SELECT tenant, id, created_at, secret FROM users WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: users
-- Of a tenant.
SELECT tenant, id, created_at FROM users WHERE tenant = %(tenant)s ORDER BY id;

-- name: rotate_user
-- Another key, and the old one is forgotten.
UPDATE users SET secret = %(secret)s WHERE tenant = %(tenant)s AND id = %(id)s RETURNING tenant, id, created_at;

-- name: remove_user
-- Their records stay.
DELETE FROM users WHERE tenant = %(tenant)s AND id = %(id)s RETURNING id;

-- name: add_owner
-- Nothing where the id is taken.
INSERT INTO owners ({owner_columns})
VALUES (%(tenant)s, %(kind)s, %(id)s, %(name)s, %(memory_enabled)s, %(created_at)s, %(updated_at)s, %(profile)s)
ON CONFLICT DO NOTHING RETURNING id;

-- name: change_owner
-- Nothing where it is not there.
UPDATE owners SET name = %(name)s, memory_enabled = %(memory_enabled)s, created_at = %(created_at)s,
                  updated_at = %(updated_at)s, profile = %(profile)s
WHERE tenant = %(tenant)s AND kind = %(kind)s AND id = %(id)s
  AND (%(expected)s::bigint IS NULL OR updated_at = %(expected)s) RETURNING id;

-- name: owner
-- One of them.
SELECT {owner_columns} FROM owners WHERE tenant = %(tenant)s AND kind = %(kind)s AND id = %(id)s;

-- name: owners
-- By name.
SELECT {owner_columns} FROM owners WHERE tenant = %(tenant)s AND kind = %(kind)s ORDER BY name, id;

-- name: remove_owner
-- The records of its scope are the caller's to delete.
DELETE FROM owners WHERE tenant = %(tenant)s AND kind = %(kind)s AND id = %(id)s RETURNING id;
