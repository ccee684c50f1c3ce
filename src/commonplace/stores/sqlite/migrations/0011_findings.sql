-- A finding can be seen again, and one that says something else takes its place.

-- What was given up, or has a successor, keeps no key: the same can be recorded again. SQLite drops no NOT NULL, so the table is
-- made anew.
CREATE TABLE knowledge_items_anew (
    number INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    tenant TEXT NOT NULL,
    space TEXT NOT NULL,
    coverage_key TEXT NOT NULL,
    dedupe_key TEXT,
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
    last_seen_at INTEGER NOT NULL,
    supersedes TEXT,
    UNIQUE (space, dedupe_key)
);
INSERT INTO knowledge_items_anew
SELECT number, id, tenant, space, coverage_key, CASE status WHEN 'deprecated' THEN NULL ELSE dedupe_key END, item_type, title,
    created_at, updated_at, summary, payload, trust_level, status, run, artifact_refs, source_memory_ids, reviewer, approval,
    freshness_expires_at, updated_at, NULL
FROM knowledge_items;
DROP TABLE knowledge_items;
ALTER TABLE knowledge_items_anew RENAME TO knowledge_items;
CREATE INDEX knowledge_items_tenant ON knowledge_items (tenant, created_at);
CREATE INDEX knowledge_items_coverage ON knowledge_items (tenant, coverage_key, created_at);
