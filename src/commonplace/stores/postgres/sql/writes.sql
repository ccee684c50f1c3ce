-- name: share_store
-- Writers share the store; what replaces its embedders or the whole of it waits for them.
SELECT pg_advisory_xact_lock_shared(hashtextextended('commonplace store ' || current_schema(), 0));

-- name: own_store
-- The other side of share_store.
SELECT pg_advisory_xact_lock(hashtextextended('commonplace store ' || current_schema(), 0));

-- name: make_tenants
-- Give a number to each tenant that has none yet.
INSERT INTO tenants (name)
SELECT name FROM unnest(%(tenants)s::text[]) AS asked (name)
WHERE NOT EXISTS (SELECT 1 FROM tenants t WHERE t.name = asked.name)
ORDER BY name ON CONFLICT DO NOTHING;

-- name: make_scopes
-- A scope needs no registration: its row is made by the first write, in one order for all writers.
INSERT INTO scopes (tenant, number, kind, id)
SELECT t.number, t.number::bigint << 32 | nextval('scope_numbers'), asked.kind, asked.id
FROM (SELECT DISTINCT * FROM unnest(%(tenants)s::text[], %(kinds)s::text[], %(ids)s::text[]) AS one (tenant, kind, id)) asked
JOIN tenants t ON t.name = asked.tenant
WHERE NOT EXISTS (SELECT 1 FROM scopes s WHERE s.tenant = t.number AND s.kind = asked.kind AND s.id = asked.id)
ORDER BY t.number, asked.kind, asked.id
ON CONFLICT DO NOTHING;

-- name: lock_scopes
-- One writer a scope at a time, so that seq is in the order of commits. The order of locking rules out deadlocks.
WITH locked AS (
    SELECT s.tenant, s.number, t.name
    FROM unnest(%(tenants)s::text[], %(kinds)s::text[], %(ids)s::text[]) AS asked (tenant, kind, id)
    JOIN tenants t ON t.name = asked.tenant
    JOIN scopes s ON s.tenant = t.number AND s.kind = asked.kind AND s.id = asked.id
    ORDER BY s.tenant, s.number FOR UPDATE OF s
)
UPDATE scopes s SET seq = s.seq + 1, epoch = s.epoch + %(epochs)s
FROM locked WHERE s.tenant = locked.tenant AND s.number = locked.number
RETURNING locked.name, s.kind, s.id, s.number, s.seq;

-- name: embedders
-- Whose vectors belong to this store.
SELECT name, number, dimension FROM embedders ORDER BY name;

-- name: new_records
-- Serial numbers for that many new records.
SELECT nextval('record_numbers') FROM generate_series(1, %(count)s);

-- name: new_contents
-- Serial numbers for that many new texts.
SELECT nextval('content_numbers') FROM generate_series(1, %(count)s);

-- name: archive
-- The versions held become past ones; the rows that take their place follow.
WITH gone AS (
    DELETE FROM records WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(numbers)s)
    RETURNING tenant, number, version, scope, content, id, kind, key, source, tags, metadata, pinned, importance, trust,
              visibility, at, expires_at, session, position, speaker, run, message, file, demoted, superseded_by,
              deleted_at, change, actor, reason, restores, created_at, updated_at
)
INSERT INTO versions (
    tenant, number, version, scope, content, id, kind, key, source, tags, metadata, pinned, importance, trust,
    visibility, at, expires_at, session, position, speaker, run, message, file, demoted, superseded_by,
    deleted_at, change, actor, reason, restores, created_at, updated_at
)
SELECT * FROM gone;

-- name: quiet
-- These texts are no longer to be found.
UPDATE passages SET scope = NULL, words = NULL
WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s) AND scope IS NOT NULL
RETURNING content, length;

-- name: quiet_vectors
-- As quiet, for the vectors.
UPDATE vectors SET scope = NULL
WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s) AND scope IS NOT NULL;

-- name: copy_passages
-- A new text that is found by the passages of the one before.
INSERT INTO passages (tenant, content, n, record, start, stop, length, terms)
SELECT tenant, %(new)s, n, record, start, stop, length, terms FROM passages
WHERE tenant = %(tenant)s AND content = %(old)s;

-- name: copy_vectors
-- As copy_passages.
INSERT INTO vectors (tenant, content, n, embedder, signed)
SELECT tenant, %(new)s, n, embedder, signed FROM vectors WHERE tenant = %(tenant)s AND content = %(old)s;

-- name: sleeping
-- The passages of texts that are about to be found again.
SELECT tenant, content, n, length, terms FROM passages
WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s);

-- name: wake
-- A passage can be found, in this scope.
UPDATE passages SET scope = %(scope)s, words = %(words)s
WHERE tenant = %(tenant)s AND content = %(content)s AND n = %(n)s;

-- name: wake_vectors
-- As wake.
UPDATE vectors SET scope = %(scope)s WHERE tenant = %(tenant)s AND content = %(content)s;

-- name: count
-- Keep the counters of a scope exact.
UPDATE scopes SET passages = passages + %(passages)s, terms = terms + %(terms)s
WHERE tenant = %(tenant)s AND number = %(number)s;

-- name: contents_of
-- Every text that these records ever had.
SELECT content FROM records WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(numbers)s)
UNION SELECT content FROM versions WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(numbers)s);

-- name: drop_records
-- Without a trace: the rows themselves,
DELETE FROM records WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(numbers)s);

-- name: drop_versions
-- their past,
DELETE FROM versions WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(numbers)s);

-- name: drop_layers
-- what was told of them in short,
DELETE FROM layers WHERE tenant = ANY(%(tenants)s) AND record = ANY(%(numbers)s);

-- name: read_anew
-- The scopes that these records left: their readers may not have heard of it yet, and will no longer hear which ones.
UPDATE scopes SET epoch = epoch + 1 WHERE (tenant, number) IN (
    SELECT tenant, scope FROM departures WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(numbers)s));

-- name: drop_departures
-- where they came from,
DELETE FROM departures WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(numbers)s);

-- name: drop_contents
-- what they said,
DELETE FROM contents WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(contents)s);

-- name: drop_passages
-- the words they were found by,
DELETE FROM passages WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s)
RETURNING scope, length;

-- name: drop_vectors
-- and what they meant.
DELETE FROM vectors WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s);
