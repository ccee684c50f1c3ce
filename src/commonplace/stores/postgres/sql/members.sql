-- name: scopes_of
-- Of a subject.
SELECT scope FROM members WHERE tenant = %(tenant)s AND subject = %(subject)s;

-- name: among
-- Those of the subject, and sessions that nobody has written to, nor begun with an agent.
SELECT named.scope FROM unnest(%(scopes)s::text[]) AS named (scope)
WHERE EXISTS (SELECT 1 FROM members m
        WHERE m.tenant = %(tenant)s AND m.scope = named.scope AND m.subject = %(subject)s)
    OR (named.scope LIKE 'session:%%'
        AND NOT EXISTS (SELECT 1 FROM members m WHERE m.tenant = %(tenant)s AND m.scope = named.scope)
        AND NOT EXISTS (SELECT 1 FROM sessions b
            WHERE b.tenant = %(tenant)s AND b.id = substr(named.scope, 9) AND b.owner <> %(subject)s)
        AND NOT EXISTS (SELECT 1 FROM scopes s JOIN tenants t ON t.number = s.tenant
            WHERE t.name = %(tenant)s AND s.kind = 'session' AND s.id = substr(named.scope, 9)));

-- name: members
-- The owner first.
SELECT subject, owner, since FROM members WHERE tenant = %(tenant)s AND scope = %(scope)s ORDER BY owner DESC, subject;

-- name: add_member
-- Nothing where they are one, or where it has an owner and this would be another.
INSERT INTO members (tenant, scope, subject, owner, since)
VALUES (%(tenant)s, %(scope)s, %(subject)s, %(owner)s, %(since)s) ON CONFLICT DO NOTHING RETURNING subject;

-- name: remove_member
-- Nothing where they are none.
DELETE FROM members WHERE tenant = %(tenant)s AND scope = %(scope)s AND subject = %(subject)s RETURNING subject;

-- name: forget_members
-- Of a scope, or of a subject.
DELETE FROM members WHERE tenant = %(tenant)s AND (scope = %(scope)s OR subject = %(subject)s);
