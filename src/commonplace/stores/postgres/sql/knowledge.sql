-- name: space_columns
-- A space as the port speaks of it.
tenant, id, scope, project, namespace, trust_level, title, created_at, updated_at

-- name: item_columns
-- An item as the port speaks of it.
tenant, id, space, coverage_key, dedupe_key, item_type, title, summary, payload, trust_level, status, run, artifact_refs,
source_memory_ids, reviewer, approval, freshness_expires_at, created_at, updated_at, last_seen_at, supersedes

-- name: put_space
-- Unless there is one of the same place.
INSERT INTO knowledge_spaces ({space_columns})
VALUES (%(tenant)s, %(id)s, %(scope)s, %(project)s, %(namespace)s, %(trust_level)s, %(title)s, %(created_at)s, %(updated_at)s)
ON CONFLICT (tenant, scope, namespace, coalesce(project, '')) DO NOTHING;

-- name: space_of_place
-- The one that is there.
SELECT {space_columns} FROM knowledge_spaces
WHERE tenant = %(tenant)s AND scope = %(scope)s AND namespace = %(namespace)s
  AND coalesce(project, '') = coalesce(%(project)s::text, '');

-- name: spaces
-- By namespace.
SELECT {space_columns} FROM knowledge_spaces
WHERE tenant = %(tenant)s AND (%(ids)s::text[] IS NULL OR id = ANY(%(ids)s)) ORDER BY namespace, created_at, id;

-- name: put_item
-- Nothing where the space is not there, or holds the same finding.
INSERT INTO knowledge_items ({item_columns})
SELECT %(tenant)s, %(id)s, s.id, %(coverage_key)s, %(dedupe_key)s, %(item_type)s, %(title)s, %(summary)s, %(payload)s,
       %(trust_level)s, %(status)s, %(run)s, %(artifact_refs)s::text[], %(source_memory_ids)s::text[], %(reviewer)s,
       %(approval)s, %(freshness_expires_at)s::bigint, %(created_at)s::bigint, %(updated_at)s::bigint,
       %(last_seen_at)s::bigint, %(supersedes)s::text
FROM knowledge_spaces s WHERE s.tenant = %(tenant)s AND s.id = %(space)s
ON CONFLICT (tenant, space, dedupe_key) DO NOTHING RETURNING {item_columns};

-- name: has_space
-- Whether it is there.
SELECT 1 FROM knowledge_spaces WHERE tenant = %(tenant)s AND id = %(space)s;

-- name: same_item
-- The finding that the space holds. Nobody changes it while it is being decided about.
SELECT {item_columns} FROM knowledge_items
WHERE tenant = %(tenant)s AND space = %(space)s AND dedupe_key = %(dedupe_key)s FOR UPDATE;

-- name: item
-- One of a tenant.
SELECT {item_columns} FROM knowledge_items WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: items
-- Newest first.
SELECT {item_columns} FROM knowledge_items
WHERE tenant = %(tenant)s AND (%(spaces)s::text[] IS NULL OR space = ANY(%(spaces)s))
  AND (%(coverage_key)s::text IS NULL OR coverage_key = %(coverage_key)s)
  AND (%(statuses)s::text[] IS NULL OR status = ANY(%(statuses)s))
ORDER BY created_at DESC, number DESC LIMIT %(limit)s;

-- name: lock_item
-- Nobody changes it while it is being decided about.
SELECT status FROM knowledge_items WHERE tenant = %(tenant)s AND id = %(id)s FOR UPDATE;

-- name: change_item
-- All of it but its name.
UPDATE knowledge_items SET space = %(space)s, coverage_key = %(coverage_key)s, dedupe_key = %(dedupe_key)s,
    item_type = %(item_type)s, title = %(title)s, summary = %(summary)s, payload = %(payload)s,
    trust_level = %(trust_level)s, status = %(status)s, run = %(run)s, artifact_refs = %(artifact_refs)s::text[],
    source_memory_ids = %(source_memory_ids)s::text[], reviewer = %(reviewer)s, approval = %(approval)s,
    freshness_expires_at = %(freshness_expires_at)s, created_at = %(created_at)s, updated_at = %(updated_at)s,
    last_seen_at = %(last_seen_at)s, supersedes = %(supersedes)s
WHERE tenant = %(tenant)s AND id = %(id)s RETURNING {item_columns};

-- name: remove_item
-- For good.
DELETE FROM knowledge_items WHERE tenant = %(tenant)s AND id = %(id)s RETURNING space, coverage_key;

-- name: recover
-- What is known about a thing after one of its items went.
UPDATE knowledge_coverage SET latest_item = (
    SELECT i.id FROM knowledge_items i
    WHERE i.tenant = %(tenant)s AND i.space = %(space)s AND i.coverage_key = %(coverage_key)s
      AND i.status <> 'quarantined'
    ORDER BY i.created_at DESC, i.number DESC LIMIT 1
) WHERE tenant = %(tenant)s AND space = %(space)s AND coverage_key = %(coverage_key)s;

-- name: drop_empty_coverage
-- Nothing is known any more.
DELETE FROM knowledge_coverage
WHERE tenant = %(tenant)s AND space = %(space)s AND coverage_key = %(coverage_key)s AND latest_item IS NULL;

-- name: renew_coverage
-- A promotion is remembered until the next; what was seen last never moves back.
INSERT INTO knowledge_coverage AS held
    (tenant, coverage_key, space, latest_item, last_seen_at, last_promoted_at, freshness_expires_at)
VALUES (%(tenant)s, %(coverage_key)s, %(space)s, %(item)s, %(seen)s, %(promoted)s, %(fresh)s)
ON CONFLICT (tenant, coverage_key, space) DO UPDATE
SET latest_item = excluded.latest_item, last_seen_at = greatest(held.last_seen_at, excluded.last_seen_at),
    last_promoted_at = greatest(held.last_promoted_at, excluded.last_promoted_at),
    freshness_expires_at = excluded.freshness_expires_at;

-- name: coverage
-- What each space knows about one thing.
SELECT space, latest_item, last_seen_at, last_promoted_at, freshness_expires_at FROM knowledge_coverage
WHERE tenant = %(tenant)s AND coverage_key = %(coverage_key)s AND (%(spaces)s::text[] IS NULL OR space = ANY(%(spaces)s))
ORDER BY space;

-- name: layers
-- Of these records.
SELECT r.id, l.version, l.name, l.text, l.tokens, l.method
FROM tenants t JOIN records r ON r.tenant = t.number JOIN layers l ON l.tenant = r.tenant AND l.record = r.number
WHERE t.name = %(tenant)s AND r.id = ANY(%(records)s::uuid[]) ORDER BY r.id, l.name;

-- name: put_layers
-- Of records that are there, and stay there until this is committed: a purge waits, and then takes these layers along.
WITH there AS MATERIALIZED (
    SELECT r.tenant, r.number, r.id FROM records r
    WHERE r.tenant = (SELECT number FROM tenants WHERE name = %(tenant)s) AND r.id = ANY(%(records)s::uuid[])
    ORDER BY r.number FOR KEY SHARE
), given AS (
    SELECT there.tenant, there.number, one.*, max(one.version) OVER (PARTITION BY there.number) AS latest
    FROM unnest(%(records)s::uuid[], %(versions)s::integer[], %(names)s::text[], %(texts)s::text[], %(tokens)s::integer[],
                %(methods)s::text[]) AS one (record, version, name, text, tokens, method)
    JOIN there ON there.id = one.record
), given_up AS (
    DELETE FROM layers l USING (SELECT DISTINCT tenant, number, latest FROM given) g
    WHERE l.tenant = g.tenant AND l.record = g.number AND l.version < g.latest
)
INSERT INTO layers (tenant, record, version, name, text, tokens, method)
SELECT tenant, number, version, name, text, tokens, method FROM given WHERE version = latest
ON CONFLICT (tenant, record, version, name) DO UPDATE
SET text = excluded.text, tokens = excluded.tokens, method = excluded.method;
