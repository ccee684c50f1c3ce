-- What the daemon keeps beside records. Times are milliseconds, secrets are hashes, JSON is NULL where it is empty.

-- Who did what. Nothing is ever changed or taken away.
CREATE TABLE audit (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    tenant TEXT NOT NULL,
    actor TEXT NOT NULL,
    action TEXT NOT NULL,
    outcome TEXT NOT NULL,
    record TEXT,
    version INTEGER,
    scope TEXT,
    run TEXT,
    door TEXT NOT NULL,
    key TEXT,
    client TEXT,
    address TEXT,
    request TEXT,
    details TEXT
);
CREATE INDEX audit_at ON audit (at);
CREATE INDEX audit_tenant ON audit (tenant, at);
CREATE INDEX audit_record ON audit (tenant, record, at) WHERE record IS NOT NULL;
CREATE INDEX audit_run ON audit (tenant, run, at) WHERE run IS NOT NULL;
CREATE TRIGGER audit_is_not_changed BEFORE UPDATE ON audit BEGIN
    SELECT raise(ABORT, 'the audit is append-only');
END;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit BEGIN
    SELECT raise(ABORT, 'the audit is append-only');
END;

-- An id is never given again, also after the log was trimmed.
CREATE TABLE events (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    type TEXT NOT NULL,
    at INTEGER NOT NULL,
    scope TEXT,
    actor TEXT,
    client TEXT,
    admins INTEGER NOT NULL,
    data TEXT
);
CREATE INDEX events_tenant ON events (tenant);

CREATE TABLE jobs (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    payload TEXT,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    updated_at INTEGER NOT NULL,
    state TEXT NOT NULL,
    mark TEXT,
    client TEXT,
    not_before INTEGER,
    max_attempts INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    worker TEXT,
    leased_until INTEGER,
    done INTEGER NOT NULL,
    total INTEGER NOT NULL,
    result TEXT,
    error_code TEXT,
    error TEXT
);
CREATE INDEX jobs_tenant ON jobs (tenant, created_at);
CREATE INDEX jobs_open ON jobs (created_at) WHERE state IN ('queued', 'running');
CREATE INDEX jobs_leased ON jobs (leased_until) WHERE state = 'running';
CREATE INDEX jobs_ended ON jobs (updated_at) WHERE state IN ('done', 'failed');
CREATE UNIQUE INDEX jobs_mark ON jobs (tenant, kind, mark) WHERE mark IS NOT NULL AND state IN ('queued', 'running');

-- What a request with an idempotency key was answered with.
CREATE TABLE replies (
    tenant TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    fingerprint BLOB NOT NULL,
    expires_at INTEGER NOT NULL,
    written TEXT,
    PRIMARY KEY (tenant, owner, key)
) WITHOUT ROWID;
CREATE INDEX replies_expiry ON replies (expires_at);

-- scopes is NULL for a key that reaches every scope, a list of patterns else.
CREATE TABLE keys (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    secret BLOB NOT NULL UNIQUE,
    name TEXT NOT NULL,
    tenant TEXT NOT NULL,
    role TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    created_by TEXT NOT NULL,
    scopes TEXT,
    expires_at INTEGER,
    revoked_at INTEGER
);
CREATE INDEX keys_tenant ON keys (tenant, created_at);

CREATE TABLE users (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    secret BLOB NOT NULL UNIQUE,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;

-- Agents and workspaces.
CREATE TABLE owners (
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    memory_enabled INTEGER NOT NULL,
    PRIMARY KEY (tenant, kind, id)
) WITHOUT ROWID;

-- The window that was begun last of each name, and what was spent in it.
CREATE TABLE quotas (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    length INTEGER NOT NULL,
    ends_at INTEGER NOT NULL,
    spent TEXT NOT NULL,
    PRIMARY KEY (tenant, name, length)
) WITHOUT ROWID;

CREATE TABLE knowledge_spaces (
    id TEXT PRIMARY KEY,
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    project TEXT,
    namespace TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    trust_level TEXT NOT NULL,
    title TEXT
) WITHOUT ROWID;
CREATE UNIQUE INDEX knowledge_spaces_place ON knowledge_spaces (tenant, namespace, scope, ifnull(project, ''));

CREATE TABLE knowledge_items (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    space TEXT NOT NULL,
    coverage_key TEXT NOT NULL,
    dedupe_key TEXT NOT NULL,
    item_type TEXT NOT NULL,
    title TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    summary TEXT NOT NULL,
    payload TEXT,
    trust_level TEXT NOT NULL,
    status TEXT NOT NULL,
    run TEXT,
    artifact_refs TEXT,
    source_memory_ids TEXT,
    reviewer TEXT,
    approval TEXT,
    freshness_expires_at INTEGER,
    UNIQUE (space, dedupe_key)
);
CREATE INDEX knowledge_items_tenant ON knowledge_items (tenant, created_at);
CREATE INDEX knowledge_items_coverage ON knowledge_items (tenant, coverage_key, created_at);

CREATE TABLE knowledge_coverage (
    tenant TEXT NOT NULL,
    coverage_key TEXT NOT NULL,
    space TEXT NOT NULL,
    latest_item TEXT,
    last_seen_at INTEGER NOT NULL,
    last_promoted_at INTEGER,
    freshness_expires_at INTEGER,
    PRIMARY KEY (tenant, coverage_key, space)
) WITHOUT ROWID;

-- Shorter tellings of records, by the record's number.
CREATE TABLE layers (
    record INTEGER NOT NULL,
    version INTEGER NOT NULL,
    name TEXT NOT NULL,
    text TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    method TEXT NOT NULL,
    PRIMARY KEY (record, version, name)
) WITHOUT ROWID;
