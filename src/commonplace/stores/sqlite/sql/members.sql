-- name: scopes_of
SELECT scope FROM members WHERE tenant = ? AND subject = ?;

-- name: among
-- Those of the subject, and sessions that nobody has written to, nor begun with an agent.
SELECT value FROM json_each(:scopes)
WHERE EXISTS (SELECT 1 FROM members WHERE tenant = :tenant AND scope = value AND subject = :subject)
    OR (value LIKE 'session:%'
        AND NOT EXISTS (SELECT 1 FROM members WHERE tenant = :tenant AND scope = value)
        AND NOT EXISTS (SELECT 1 FROM sessions
            WHERE tenant = :tenant AND id = substr(value, 9) AND owner <> :subject)
        AND NOT EXISTS (SELECT 1 FROM scopes WHERE tenant = :tenant AND kind = 'session' AND id = substr(value, 9)));

-- name: members
SELECT subject, owner, since FROM members WHERE tenant = ? AND scope = ? ORDER BY owner DESC, subject;

-- name: add_member
INSERT INTO members (tenant, scope, subject, owner, since) VALUES (?, ?, ?, ?, ?);

-- name: remove_member
DELETE FROM members WHERE tenant = ? AND scope = ? AND subject = ?;

-- name: forget_members
DELETE FROM members WHERE tenant = :tenant AND (scope = :scope OR subject = :subject);
