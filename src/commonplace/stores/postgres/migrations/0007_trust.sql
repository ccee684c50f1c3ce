-- Persons inside a tenant are kept apart.

-- `subject` is the person a key speaks for (NULL: the key itself, key/<id>), `agent` whether a program holds it, `parent` the
-- key that made it.
ALTER TABLE keys ADD COLUMN subject text COLLATE "C";
ALTER TABLE keys ADD COLUMN agent boolean NOT NULL DEFAULT false;
ALTER TABLE keys ADD COLUMN parent text COLLATE "C";

-- Whose a scope is, and with whom it is shared: sessions, rooms, and what a person keeps from before.
CREATE TABLE members (
    tenant text COLLATE "C" NOT NULL,
    scope text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    owner boolean NOT NULL,
    since bigint NOT NULL,
    PRIMARY KEY (tenant, scope, subject)
);
CREATE INDEX members_subject ON members (tenant, subject);

-- A key that has private notes under its name keeps them, unless a user of the gateway has that name: `doctor` tells of those.
UPDATE keys SET subject = name
WHERE name NOT IN ('local', 'operator', 'anonymous') AND name NOT LIKE 'key/%'
    AND EXISTS (SELECT 1 FROM tenants JOIN scopes ON scopes.tenant = tenants.number
        JOIN records ON records.tenant = scopes.tenant AND records.scope = scopes.number
        WHERE tenants.name = keys.tenant AND scopes.kind = 'user' AND scopes.id = keys.name)
    AND NOT EXISTS (SELECT 1 FROM users WHERE users.tenant = keys.tenant AND users.id = keys.name);

-- The operator is `local` from now on, and keeps what was written as `operator`.
INSERT INTO members (tenant, scope, subject, owner, since)
SELECT tenants.name, 'user:operator', 'local', true, (extract(epoch FROM now()) * 1000)::bigint
FROM scopes JOIN tenants ON tenants.number = scopes.tenant WHERE scopes.kind = 'user' AND scopes.id = 'operator';

-- A session, or a room, belongs to whoever wrote its first record: the keys of that name, the gateway's user, else the operator, who also
-- wrote under names of programs that had opened the store.
INSERT INTO members (tenant, scope, subject, owner, since)
SELECT DISTINCT tenants.name, beginnings.kind || ':' || beginnings.id,
    CASE
        WHEN beginnings.actor IS NULL OR beginnings.actor IN ('local', 'operator', 'anonymous') THEN 'local'
        WHEN keys.id IS NOT NULL THEN coalesce(keys.subject, 'key/' || keys.id)
        WHEN users.id IS NOT NULL THEN users.id
        ELSE 'local'
    END, true, beginnings.since
FROM (
    SELECT DISTINCT ON (scopes.tenant, scopes.number) scopes.tenant, scopes.kind, scopes.id, records.created_at AS since,
        coalesce(old.actor, records.actor) AS actor
    FROM scopes JOIN records ON records.tenant = scopes.tenant AND records.scope = scopes.number
    LEFT JOIN versions AS old ON old.tenant = records.tenant AND old.number = records.number AND old.version = 1
    WHERE scopes.kind IN ('session', 'channel')
    ORDER BY scopes.tenant, scopes.number, records.created_at, records.number
) AS beginnings
JOIN tenants ON tenants.number = beginnings.tenant
LEFT JOIN keys ON keys.tenant = tenants.name AND keys.name = beginnings.actor
LEFT JOIN users ON users.tenant = tenants.name AND users.id = beginnings.actor;
UPDATE members SET owner = false WHERE EXISTS (
    SELECT 1 FROM members AS first
    WHERE first.tenant = members.tenant AND first.scope = members.scope AND first.subject < members.subject
);
-- Of two who write to a new session at once, the second is no member.
CREATE UNIQUE INDEX members_owner ON members (tenant, scope) WHERE owner;
