-- name: totals
-- What a tenant holds. A record that has expired is not live.
SELECT count(*), count(*) FILTER (WHERE live AND (expires_at IS NULL OR expires_at > %(now)s)),
       count(*) FILTER (WHERE deleted_at IS NOT NULL)
FROM records WHERE tenant = %(tenant)s;

-- name: past_versions
-- How many versions came before those held.
SELECT count(*) FROM versions WHERE tenant = %(tenant)s;

-- name: by_scope
-- Records and live passages of each scope.
SELECT s.kind, s.id, s.passages,
       (SELECT count(*) FROM records r WHERE r.tenant = s.tenant AND r.scope = s.number)
FROM scopes s WHERE s.tenant = %(tenant)s ORDER BY s.kind, s.id;

-- name: size
-- The bytes of the whole store, indexes included.
SELECT coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint FROM pg_class c
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r';

-- name: tenant
-- A tenant's number.
SELECT number FROM tenants WHERE name = %(tenant)s;

-- name: schema_version
-- How far the schema has come.
SELECT max(version) FROM schema_version;

-- name: drop_other_vectors
-- Vectors of embedders that no longer belong to the store.
DELETE FROM vectors WHERE NOT embedder = ANY(%(kept)s::integer[]);

-- name: drop_other_embedders
-- As drop_other_vectors.
DELETE FROM embedders WHERE NOT number = ANY(%(kept)s::integer[]);

-- name: active_embedders
-- Those that answer.
SELECT name, dimension FROM embedders WHERE name NOT IN (SELECT name FROM embedder_stages) ORDER BY name;

-- name: activate
-- Those that are left answer.
DELETE FROM embedder_stages;

-- name: add_embedder
-- From now on this one too.
INSERT INTO embedders (name, dimension) VALUES (%(name)s, %(dimension)s);

-- name: contents
-- Texts of every tenant in the order of their numbers, which begin with the tenant's.
SELECT number, text, speaker, at FROM contents
WHERE (tenant, number) > ((%(after)s::bigint >> 32)::integer, %(after)s::bigint)
ORDER BY tenant, number LIMIT %(limit)s;

-- name: owners
-- Whose these contents are, and whether they can be found now.
SELECT c.number, c.record, t.name, s.kind, s.id, s.number, r.live AND r.content = c.number
FROM contents c
JOIN records r ON r.tenant = c.tenant AND r.number = c.record
JOIN scopes s ON s.tenant = r.tenant AND s.number = r.scope
JOIN tenants t ON t.number = r.tenant
WHERE c.tenant = ANY(%(tenants)s) AND c.number = ANY(%(contents)s);

-- name: drop_passages
-- Make room for new passages.
DELETE FROM passages WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s)
RETURNING scope, length;

-- name: drop_vectors
-- As drop_passages.
DELETE FROM vectors WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s);

-- name: idle_sessions
-- Sessions that nobody has written to for long, with something in them that is neither pinned nor deleted.
SELECT t.name, s.id FROM scopes s JOIN tenants t ON t.number = s.tenant
WHERE s.kind = 'session'
  AND (SELECT max(v.updated_at) FROM records v WHERE v.tenant = s.tenant AND v.scope = s.number) < %(before)s
  AND coalesce((SELECT at FROM milestones WHERE name = 'sessions_end'), 0) < %(before)s
  AND EXISTS (SELECT 1 FROM records v WHERE v.tenant = s.tenant AND v.scope = s.number AND v.deleted_at IS NULL AND NOT v.pinned)
  AND NOT EXISTS (SELECT 1 FROM rules r WHERE r.tenant = s.tenant AND r.max_age IS NOT NULL
      AND r.scope IN ('session', 'session:' || s.id))
ORDER BY s.tenant, s.number LIMIT %(limit)s;

-- name: rules
-- How long the records of each scope are kept.
SELECT scope, max_age, max_records FROM rules
WHERE tenant = (SELECT number FROM tenants WHERE name = %(tenant)s) ORDER BY scope;

-- name: make_tenant
-- A tenant may have rules before it has records.
INSERT INTO tenants (name) SELECT %(tenant)s::text WHERE NOT EXISTS (SELECT 1 FROM tenants WHERE name = %(tenant)s::text)
ON CONFLICT DO NOTHING;

-- name: set_rule
-- Instead of the one before.
INSERT INTO rules (tenant, scope, max_age, max_records)
SELECT number, %(scope)s, %(max_age)s::bigint, %(max_records)s::bigint FROM tenants WHERE name = %(tenant)s
ON CONFLICT (tenant, scope) DO UPDATE SET max_age = excluded.max_age, max_records = excluded.max_records;

-- name: drop_rule
-- A rule without limits is none.
DELETE FROM rules WHERE tenant = (SELECT number FROM tenants WHERE name = %(tenant)s) AND scope = %(scope)s;

-- name: log
-- What upkeep did.
INSERT INTO upkeep (tenant, at, action, scope, records, detail)
SELECT number, %(at)s::bigint, %(action)s, %(scope)s, %(records)s::bigint, %(detail)s FROM tenants WHERE name = %(tenant)s;

-- name: read_log
-- What upkeep did, newest first.
SELECT at, action, scope, records, detail FROM upkeep
WHERE tenant = (SELECT number FROM tenants WHERE name = %(tenant)s) AND (%(since)s::bigint IS NULL OR at >= %(since)s)
ORDER BY at DESC, number DESC LIMIT %(limit)s;

-- name: columns
-- The columns a backup holds: not those the database works out itself, nor the marks of its own transactions.
SELECT c.relname::text, array_agg(a.attname::text ORDER BY a.attnum)
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
WHERE c.relnamespace = current_schema()::regnamespace AND c.relkind = 'r' AND c.relname <> 'schema_version'
  AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = '' AND a.attname <> 'writer'
GROUP BY c.relname ORDER BY c.relname;

-- name: damaged_pages
-- Pages whose checksum was wrong, where the server keeps checksums.
SELECT coalesce(max(checksum_failures), 0)::bigint FROM pg_stat_database WHERE datname = current_database();

-- name: is_empty
-- Whether a backup may be restored here.
SELECT NOT EXISTS (SELECT 1 FROM records) AND NOT EXISTS (SELECT 1 FROM contents) AND NOT EXISTS (SELECT 1 FROM audit)
   AND NOT EXISTS (SELECT 1 FROM keys) AND NOT EXISTS (SELECT 1 FROM users) AND NOT EXISTS (SELECT 1 FROM owners)
   AND NOT EXISTS (SELECT 1 FROM jobs) AND NOT EXISTS (SELECT 1 FROM knowledge_spaces)
   AND NOT EXISTS (SELECT 1 FROM events) AND NOT EXISTS (SELECT 1 FROM outbox) AND NOT EXISTS (SELECT 1 FROM seals)
   AND NOT EXISTS (SELECT 1 FROM sessions);

-- name: set_sequences
-- Go on counting after the highest number restored.
SELECT setval('scope_numbers', coalesce((SELECT max(number & 4294967295) FROM scopes), 0) + 1, false),
       setval('record_numbers', coalesce((SELECT max(number & 4294967295) FROM records), 0) + 1, false),
       setval('content_numbers', coalesce((SELECT max(number & 4294967295) FROM contents), 0) + 1, false),
       setval(pg_get_serial_sequence('tenants', 'number'), coalesce((SELECT max(number) FROM tenants), 0) + 1, false),
       setval(pg_get_serial_sequence('embedders', 'number'), coalesce((SELECT max(number) FROM embedders), 0) + 1, false),
       setval(pg_get_serial_sequence('upkeep', 'number'), coalesce((SELECT max(number) FROM upkeep), 0) + 1, false),
       setval(pg_get_serial_sequence('audit', 'number'),
              greatest((SELECT max(number) FROM audit), (SELECT max(last) FROM seals), 0) + 1, false),
       setval(pg_get_serial_sequence('outbox', 'number'), coalesce((SELECT max(number) FROM outbox), 0) + 1, false),
       setval(pg_get_serial_sequence('jobs', 'number'), coalesce((SELECT max(number) FROM jobs), 0) + 1, false),
       setval(pg_get_serial_sequence('keys', 'number'), coalesce((SELECT max(number) FROM keys), 0) + 1, false),
       setval(pg_get_serial_sequence('usage', 'number'), coalesce((SELECT max(number) FROM usage), 0) + 1, false),
       setval(pg_get_serial_sequence('knowledge_items', 'number'),
              coalesce((SELECT max(number) FROM knowledge_items), 0) + 1, false);
