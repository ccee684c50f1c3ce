-- Persons inside a tenant are kept apart.

-- `subject` is the person a key speaks for (NULL: the key itself, key/<id>), `agent` whether a program holds it, `parent` the
-- key that made it.
ALTER TABLE keys ADD COLUMN subject TEXT;
ALTER TABLE keys ADD COLUMN agent INTEGER NOT NULL DEFAULT 0;
ALTER TABLE keys ADD COLUMN parent TEXT;

-- Whose a scope is, and with whom it is shared: sessions, rooms, and what a person keeps from before.
CREATE TABLE members (
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    subject TEXT NOT NULL,
    owner INTEGER NOT NULL,
    since INTEGER NOT NULL,
    PRIMARY KEY (tenant, scope, subject)
) WITHOUT ROWID;
CREATE INDEX members_subject ON members (tenant, subject);

-- A key that has private notes under its name keeps them, unless a user of the gateway has that name: `doctor` tells of those.
UPDATE keys SET subject = name
WHERE name NOT IN ('local', 'operator', 'anonymous') AND name NOT LIKE 'key/%'
    AND EXISTS (SELECT 1 FROM scopes JOIN records ON records.scope = scopes.number
        WHERE scopes.tenant = keys.tenant AND scopes.kind = 'user' AND scopes.id = keys.name)
    AND NOT EXISTS (SELECT 1 FROM users WHERE users.tenant = keys.tenant AND users.id = keys.name);

-- The operator is `local` from now on, and keeps what was written as `operator`.
INSERT INTO members (tenant, scope, subject, owner, since)
SELECT tenant, 'user:operator', 'local', 1, unixepoch() * 1000 FROM scopes WHERE kind = 'user' AND id = 'operator';

-- A session, or a room, belongs to whoever wrote its first record: the keys of that name, the gateway's user, else the operator, who also
-- wrote under names of programs that had opened the store.
CREATE TEMP TABLE beginnings AS
SELECT scopes.tenant AS tenant, scopes.kind AS kind, scopes.id AS id, min(first.created_at) AS since,
    (SELECT coalesce(old.actor, records.actor) FROM records
        LEFT JOIN versions AS old ON old.number = records.number AND old.version = 1
        WHERE records.scope = scopes.number ORDER BY records.created_at, records.number LIMIT 1) AS actor
FROM scopes JOIN records AS first ON first.scope = scopes.number
WHERE scopes.kind IN ('session', 'channel') GROUP BY scopes.number;
INSERT INTO members (tenant, scope, subject, owner, since)
SELECT DISTINCT beginnings.tenant, beginnings.kind || ':' || beginnings.id,
    CASE
        WHEN beginnings.actor IS NULL OR beginnings.actor IN ('local', 'operator', 'anonymous') THEN 'local'
        WHEN keys.id IS NOT NULL THEN coalesce(keys.subject, 'key/' || keys.id)
        WHEN users.id IS NOT NULL THEN users.id
        ELSE 'local'
    END, 1, beginnings.since
FROM beginnings LEFT JOIN keys ON keys.tenant = beginnings.tenant AND keys.name = beginnings.actor
LEFT JOIN users ON users.tenant = beginnings.tenant AND users.id = beginnings.actor;
DROP TABLE beginnings;
UPDATE members SET owner = 0 WHERE EXISTS (
    SELECT 1 FROM members AS first
    WHERE first.tenant = members.tenant AND first.scope = members.scope AND first.subject < members.subject
);
-- Of two who write to a new session at once, the second is no member.
CREATE UNIQUE INDEX members_owner ON members (tenant, scope) WHERE owner = 1;
