-- name: extension
-- pgvector, whose type the vectors are of.
SELECT CASE WHEN EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') THEN 0 ELSE 1 END;

-- name: damage
-- Pages whose checksum was wrong, where the server keeps checksums.
SELECT coalesce(checksum_failures, 0) FROM pg_stat_database WHERE datname = current_database();

-- name: indexes
-- Indexes that the server does not trust.
SELECT count(*) FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
WHERE c.relnamespace = current_schema()::regnamespace AND NOT (i.indisvalid AND i.indisready);

-- name: counters
-- Scopes whose counters are not what is there.
SELECT count(*) FROM scopes s
LEFT JOIN (SELECT tenant, scope, count(*) AS passages, sum(length) AS terms FROM passages WHERE scope IS NOT NULL GROUP BY tenant, scope) p
    ON p.tenant = s.tenant AND p.scope = s.number
WHERE s.passages <> coalesce(p.passages, 0) OR s.terms <> coalesce(p.terms, 0);

-- name: texts
-- Versions without their text, and texts of no version.
SELECT (SELECT count(*) FROM records r WHERE NOT EXISTS
            (SELECT 1 FROM contents c WHERE c.tenant = r.tenant AND c.number = r.content))
     + (SELECT count(*) FROM versions v WHERE NOT EXISTS
            (SELECT 1 FROM contents c WHERE c.tenant = v.tenant AND c.number = v.content))
     + (SELECT count(*) FROM contents c WHERE NOT EXISTS
            (SELECT 1 FROM records r WHERE r.tenant = c.tenant AND r.number = c.record));

-- name: versions
-- Records that lack one of their past versions.
SELECT count(*) FROM records r
LEFT JOIN (SELECT tenant, number, max(version) AS last FROM versions GROUP BY tenant, number) v
    ON v.tenant = r.tenant AND v.number = r.number
WHERE r.version > 1 AND coalesce(v.last, 0) <> r.version - 1;

-- name: passages
-- Live records that no word finds.
SELECT count(*) FROM records r WHERE r.live AND NOT EXISTS
    (SELECT 1 FROM passages p WHERE p.tenant = r.tenant AND p.content = r.content);

-- name: words
-- Passages of live records without their words, and words of what is no longer live.
SELECT count(*) FROM passages p
LEFT JOIN records r ON r.tenant = p.tenant AND r.number = p.record AND r.content = p.content AND r.live
WHERE p.scope IS DISTINCT FROM r.scope OR (p.words IS NULL) <> (p.scope IS NULL)
   OR cardinality(p.words) <> length(p.terms) / 5;

-- name: stray_vectors
-- Vectors of no passage, or in another scope than their passage.
SELECT count(*) FROM vectors v
LEFT JOIN passages p ON p.tenant = v.tenant AND p.content = v.content AND p.n = v.n
WHERE p.content IS NULL OR p.scope IS DISTINCT FROM v.scope
   OR NOT EXISTS (SELECT 1 FROM embedders e WHERE e.number = v.embedder AND e.dimension = vector_dims(v.signed));

-- name: missing_vectors
-- Live passages that one of the embedders that answer has no vector for.
SELECT count(*) FROM passages p JOIN embedders e ON e.name NOT IN (SELECT name FROM embedder_stages)
WHERE p.scope IS NOT NULL AND NOT EXISTS (
    SELECT 1 FROM vectors v
    WHERE v.tenant = p.tenant AND v.content = p.content AND v.n = p.n AND v.embedder = e.number);

-- name: some_metadata
-- Of all records and versions that have any.
SELECT id, metadata FROM records WHERE metadata <> '{}' UNION ALL SELECT id, metadata FROM versions WHERE metadata <> '{}';

-- name: history
-- Sessions whose positions have gaps, or which count other messages than they have; and messages of no session.
SELECT count(*) FROM sessions s FULL JOIN (
    SELECT tenant, session, count(*) AS messages, max(position) AS last, count(*) FILTER (WHERE NOT hidden) AS visible
    FROM messages GROUP BY tenant, session
) m ON m.tenant = s.tenant AND m.session = s.id
WHERE s.id IS NULL OR s.last <> coalesce(m.last, 0) OR s.last <> coalesce(m.messages, 0)
   OR s.messages <> coalesce(m.visible, 0);
