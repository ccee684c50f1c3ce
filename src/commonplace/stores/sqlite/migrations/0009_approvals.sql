-- Nobody below admin reviews their own: who approved which version of a record or a finding, and who asks for it. No text is here.
CREATE TABLE approvals (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    target TEXT NOT NULL,
    version INTEGER NOT NULL,
    state TEXT NOT NULL,
    subject TEXT NOT NULL,
    actor TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    scope TEXT,
    self_approved INTEGER NOT NULL,
    agent INTEGER NOT NULL,
    withdrawn_at INTEGER
) WITHOUT ROWID;
CREATE UNIQUE INDEX approvals_once ON approvals (tenant, kind, target, version, state, subject) WHERE withdrawn_at IS NULL;
CREATE INDEX approvals_newest ON approvals (tenant, id) WHERE withdrawn_at IS NULL;

-- Who wrote a finding of the knowledge registry.
CREATE TABLE finding_authors (
    tenant TEXT NOT NULL,
    finding TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (tenant, finding)
) WITHOUT ROWID;
