-- Scopes, and how far each has come: seq grows with every write to one of its records, epoch when caches must start anew.
-- passages and terms count what is live, for BM25. A number is never used again, as with those below.
CREATE TABLE scopes (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    kind TEXT NOT NULL,
    id TEXT NOT NULL,
    seq INTEGER NOT NULL DEFAULT 0,
    epoch INTEGER NOT NULL DEFAULT 0,
    passages INTEGER NOT NULL DEFAULT 0,
    terms INTEGER NOT NULL DEFAULT 0,
    UNIQUE (tenant, kind, id)
);

-- Numbers handed out, never twice: a cache in another process may still hold an old one.
CREATE TABLE counters (
    name TEXT PRIMARY KEY,
    next INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO counters VALUES ('records', 1), ('contents', 1);

-- The version held now of each record. content points to its text.
CREATE TABLE records (
    number INTEGER PRIMARY KEY,
    id BLOB NOT NULL UNIQUE,
    scope INTEGER NOT NULL,
    seq INTEGER NOT NULL,
    once BLOB,
    version INTEGER NOT NULL,
    content INTEGER NOT NULL,
    kind TEXT NOT NULL,
    key TEXT,
    source TEXT NOT NULL,
    tags TEXT,
    metadata TEXT,
    pinned INTEGER NOT NULL,
    importance INTEGER NOT NULL,
    trust TEXT NOT NULL,
    visibility TEXT NOT NULL,
    at INTEGER,
    expires_at INTEGER,
    session TEXT,
    position INTEGER,
    speaker TEXT,
    provenance TEXT,
    demoted INTEGER NOT NULL,
    superseded_by BLOB,
    deleted_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    change TEXT NOT NULL,
    actor TEXT,
    reason TEXT,
    restores INTEGER
);
CREATE UNIQUE INDEX records_key ON records (scope, key) WHERE key IS NOT NULL;
CREATE UNIQUE INDEX records_once ON records (scope, once) WHERE once IS NOT NULL;
CREATE INDEX records_seq ON records (scope, seq);
CREATE INDEX records_updated ON records (scope, updated_at);
CREATE INDEX records_session ON records (scope, session, position) WHERE session IS NOT NULL;

-- The versions before it.
CREATE TABLE versions (
    number INTEGER NOT NULL,
    version INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    content INTEGER NOT NULL,
    kind TEXT NOT NULL,
    key TEXT,
    source TEXT NOT NULL,
    tags TEXT,
    metadata TEXT,
    pinned INTEGER NOT NULL,
    importance INTEGER NOT NULL,
    trust TEXT NOT NULL,
    visibility TEXT NOT NULL,
    at INTEGER,
    expires_at INTEGER,
    session TEXT,
    position INTEGER,
    speaker TEXT,
    provenance TEXT,
    demoted INTEGER NOT NULL,
    superseded_by BLOB,
    deleted_at INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    change TEXT NOT NULL,
    actor TEXT,
    reason TEXT,
    restores INTEGER,
    PRIMARY KEY (number, version)
) WITHOUT ROWID;
CREATE INDEX versions_scope ON versions (scope, updated_at);

-- Each text that some version has. A change that leaves the text alone keeps its content.
CREATE TABLE contents (
    number INTEGER PRIMARY KEY,
    record INTEGER NOT NULL,
    text TEXT NOT NULL
);

-- Stretches of a text as they are searched: number = content * 4096 + n.
CREATE TABLE passages (
    number INTEGER PRIMARY KEY,
    start INTEGER NOT NULL,
    stop INTEGER NOT NULL,
    length INTEGER NOT NULL,
    terms BLOB NOT NULL
);

CREATE TABLE embedders (
    number INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE,
    dimension INTEGER NOT NULL
);

-- Signed bytes, clustered by scope. Passages that are not live stand under the negated scope.
CREATE TABLE vectors (
    embedder INTEGER NOT NULL,
    scope INTEGER NOT NULL,
    passage INTEGER NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (embedder, scope, passage)
) WITHOUT ROWID;

-- Hashes of analysed terms of live passages, the scope inside the term, so that a search costs what its scope holds.
CREATE VIRTUAL TABLE words USING fts5 (terms, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');

CREATE TABLE vector_cache (
    hash BLOB NOT NULL,
    embedder TEXT NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (hash, embedder)
) WITHOUT ROWID;

CREATE TABLE rules (
    tenant TEXT NOT NULL,
    scope TEXT NOT NULL,
    max_age INTEGER,
    max_records INTEGER,
    PRIMARY KEY (tenant, scope)
) WITHOUT ROWID;

CREATE TABLE upkeep (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    action TEXT NOT NULL,
    scope TEXT NOT NULL,
    records INTEGER NOT NULL,
    detail TEXT NOT NULL
);
