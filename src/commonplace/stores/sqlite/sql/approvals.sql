-- name: add_approval
-- Nothing if the subject has one already.
INSERT INTO approvals (
    id, tenant, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at)
VALUES (:id, :tenant, :kind, :target, :version, :state, :subject, :actor, :created_at, :scope, :self_approved, :agent, NULL)
ON CONFLICT DO NOTHING;

-- name: same_approval
-- The one that the subject has already.
SELECT id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at FROM approvals
WHERE tenant = :tenant AND kind = :kind AND target = :target AND version = :version AND state = :state
    AND subject = :subject AND withdrawn_at IS NULL;

-- name: approval
-- By its id.
SELECT id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at FROM approvals
WHERE tenant = :tenant AND id = :id;

-- name: approvals_of
-- Of one record or finding.
SELECT id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at FROM approvals
WHERE tenant = :tenant AND kind = :kind AND target = :target AND withdrawn_at IS NULL ORDER BY id DESC;

-- name: approvals
-- A page.
SELECT id, kind, target, version, state, subject, actor, created_at, scope, self_approved, agent, withdrawn_at FROM approvals
WHERE tenant = :tenant AND withdrawn_at IS NULL AND (:state IS NULL OR state = :state) AND (:cursor IS NULL OR id < :cursor)
ORDER BY id DESC LIMIT :limit;

-- name: withdraw_approval
-- Nothing if there is none.
UPDATE approvals SET withdrawn_at = :at WHERE tenant = :tenant AND id = :id AND withdrawn_at IS NULL;

-- name: add_author
-- The first stays.
INSERT INTO finding_authors (tenant, finding, subject) VALUES (:tenant, :finding, :subject) ON CONFLICT DO NOTHING;

-- name: author
-- Of a finding.
SELECT subject FROM finding_authors WHERE tenant = :tenant AND finding = :finding;
