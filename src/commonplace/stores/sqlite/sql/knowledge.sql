-- name: add_space
-- Nothing happens where one of the same place is there.
INSERT INTO knowledge_spaces (id, tenant, scope, project, namespace, created_at, updated_at, trust_level, title)
VALUES (:id, :tenant, :scope, :project, :namespace, :created_at, :updated_at, :trust_level, :title)
ON CONFLICT (tenant, namespace, scope, ifnull(project, '')) DO NOTHING;

-- name: space_of_place
SELECT id, tenant, scope, project, namespace, created_at, updated_at, trust_level, title FROM knowledge_spaces
WHERE tenant = :tenant AND namespace = :namespace AND scope = :scope AND ifnull(project, '') = ifnull(:project, '');

-- name: spaces
SELECT id, tenant, scope, project, namespace, created_at, updated_at, trust_level, title FROM knowledge_spaces;

-- name: has_space
SELECT 1 FROM knowledge_spaces WHERE tenant = ? AND id = ?;

-- name: add_item
INSERT INTO knowledge_items (
    tenant, space, coverage_key, dedupe_key, item_type, title, created_at, updated_at, summary, payload, trust_level,
    status, run, artifact_refs, source_memory_ids, reviewer, approval, freshness_expires_at, last_seen_at,
    supersedes, id
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: change_item
UPDATE knowledge_items SET (
    tenant, space, coverage_key, dedupe_key, item_type, title, created_at, updated_at, summary, payload, trust_level,
    status, run, artifact_refs, source_memory_ids, reviewer, approval, freshness_expires_at, last_seen_at,
    supersedes
) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE id = ?;

-- name: remove_item
DELETE FROM knowledge_items WHERE id = ?;

-- name: recover
-- What is known about a thing after one of its items went.
UPDATE knowledge_coverage SET latest_item = (
    SELECT i.id FROM knowledge_items i WHERE i.tenant = :tenant AND i.space = :space AND i.coverage_key = :coverage_key
        AND i.status <> 'quarantined'
    ORDER BY i.created_at DESC, i.number DESC LIMIT 1
) WHERE tenant = :tenant AND space = :space AND coverage_key = :coverage_key;

-- name: drop_empty_coverage
DELETE FROM knowledge_coverage
WHERE tenant = :tenant AND space = :space AND coverage_key = :coverage_key AND latest_item IS NULL;

-- name: items
SELECT tenant, space, coverage_key, dedupe_key, item_type, title, created_at, updated_at, summary, payload, trust_level,
    status, run, artifact_refs, source_memory_ids, reviewer, approval, freshness_expires_at, last_seen_at,
    supersedes, id
FROM knowledge_items;

-- name: renew_coverage
-- The moment of the last promotion stays where this is none.
INSERT INTO knowledge_coverage (
    tenant, coverage_key, space, latest_item, last_seen_at, last_promoted_at, freshness_expires_at
) VALUES (:tenant, :coverage_key, :space, :item, :seen, :promoted, :fresh_until)
ON CONFLICT (tenant, coverage_key, space) DO UPDATE SET latest_item = excluded.latest_item,
    last_seen_at = excluded.last_seen_at, last_promoted_at = ifnull(excluded.last_promoted_at, last_promoted_at),
    freshness_expires_at = excluded.freshness_expires_at;

-- name: coverage
SELECT space, latest_item, last_seen_at, last_promoted_at, freshness_expires_at FROM knowledge_coverage;

-- name: record_number
SELECT r.number FROM records r JOIN scopes s ON s.number = r.scope WHERE r.id = ? AND s.tenant = ?;

-- name: layers
SELECT r.id, l.version, l.name, l.text, l.tokens, l.method
FROM records r JOIN scopes s ON s.number = r.scope JOIN layers l ON l.record = r.number
WHERE r.id IN (SELECT unhex(value) FROM json_each(:ids)) AND s.tenant = :tenant ORDER BY r.id, l.name;

-- name: drop_earlier_layers
DELETE FROM layers WHERE record = ? AND version < ?;

-- name: put_layer
INSERT OR REPLACE INTO layers (record, version, name, text, tokens, method) VALUES (?, ?, ?, ?, ?, ?);
