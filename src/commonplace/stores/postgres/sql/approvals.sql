-- name: add_approval
-- Nothing if the subject has one already.
INSERT INTO approvals (
    id, tenant, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at)
VALUES (%(id)s, %(tenant)s, %(kind)s, %(target)s, %(version)s, %(state)s, %(subject)s, %(actor)s, %(created_at)s, %(scope)s, %(self_approved)s, %(agent)s, NULL)
ON CONFLICT DO NOTHING RETURNING id;

-- name: same_approval
-- The one that the subject has already.
SELECT id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at FROM approvals
WHERE tenant = %(tenant)s AND kind = %(kind)s AND target = %(target)s AND version = %(version)s AND state = %(state)s
    AND subject = %(subject)s AND withdrawn_at IS NULL;

-- name: approval
-- By its id.
SELECT id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at FROM approvals
WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: approvals_of
-- Of one record or finding.
SELECT id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at FROM approvals
WHERE tenant = %(tenant)s AND kind = %(kind)s AND target = %(target)s AND withdrawn_at IS NULL ORDER BY id DESC;

-- name: approvals
-- A page.
SELECT id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at FROM approvals
WHERE tenant = %(tenant)s AND withdrawn_at IS NULL AND (%(state)s::text IS NULL OR state = %(state)s) AND (%(cursor)s::text IS NULL OR id < %(cursor)s)
ORDER BY id DESC LIMIT %(limit)s;

-- name: withdraw_approval
-- Nothing if there is none.
UPDATE approvals SET withdrawn_at = %(at)s WHERE tenant = %(tenant)s AND id = %(id)s AND withdrawn_at IS NULL RETURNING id;

-- name: add_author
-- The first stays.
INSERT INTO finding_authors (tenant, finding, subject) VALUES (%(tenant)s, %(finding)s, %(subject)s) ON CONFLICT DO NOTHING;

-- name: author
-- Of a finding.
SELECT subject FROM finding_authors WHERE tenant = %(tenant)s AND finding = %(finding)s;
