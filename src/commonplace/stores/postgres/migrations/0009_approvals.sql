-- Nobody below admin reviews their own: who approved which version of a record or a finding, and who asks for it. No text is here.
CREATE TABLE approvals (
    id text COLLATE "C" PRIMARY KEY,
    tenant text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    version bigint NOT NULL,
    state text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    actor text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    scope text COLLATE "C",
    self_approved boolean NOT NULL,
    agent boolean NOT NULL,
    withdrawn_at bigint
);
CREATE UNIQUE INDEX approvals_once ON approvals (tenant, kind, target, version, state, subject) WHERE withdrawn_at IS NULL;
CREATE INDEX approvals_newest ON approvals (tenant, id) WHERE withdrawn_at IS NULL;

-- Who wrote a finding of the knowledge registry.
CREATE TABLE finding_authors (
    tenant text COLLATE "C" NOT NULL,
    finding text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    PRIMARY KEY (tenant, finding)
);
