-- name: private_notes
-- Records that were never shared, in scopes of several persons, with the actor of their first version. What they say of themselves is read
-- elsewhere, as on the other store.
SELECT r.number, t.name, r.metadata, CASE WHEN first.version IS NULL THEN r.actor ELSE first.actor END, r.created_at, s.kind, s.id, r.id::text
FROM records r
JOIN scopes s ON s.tenant = r.tenant AND s.number = r.scope
JOIN tenants t ON t.number = r.tenant
LEFT JOIN LATERAL (
    SELECT v.version, v.actor FROM versions v WHERE v.tenant = r.tenant AND v.number = r.number ORDER BY v.version LIMIT 1
) first ON true
WHERE s.kind IN ('session', 'workspace', 'global') AND r.visibility <> 'shared' AND strpos(r.metadata, '"governed":') > 0
  AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.tenant = r.tenant AND v.number = r.number AND v.visibility = 'shared')
ORDER BY r.number;

-- name: keys
SELECT tenant, id, name, role, subject, created_at FROM keys;

-- name: users
SELECT tenant, id FROM users;

-- name: move_versions
UPDATE versions SET scope = %(scope)s WHERE tenant = %(tenant)s AND number = %(number)s;

-- name: move_record
-- A mark or a key that is taken there is left behind.
UPDATE records r SET scope = %(scope)s, seq = %(seq)s, writer = pg_current_xact_id(),
    once = CASE WHEN EXISTS (SELECT 1 FROM records o WHERE o.tenant = r.tenant AND o.scope = %(scope)s AND o.once = r.once)
        THEN NULL ELSE once END,
    key = CASE WHEN EXISTS (SELECT 1 FROM records o WHERE o.tenant = r.tenant AND o.scope = %(scope)s AND o.key = r.key)
        THEN NULL ELSE key END
WHERE r.tenant = %(tenant)s AND r.number = %(number)s;

-- name: move_words
-- The serial of the scope stands above each hash.
UPDATE passages SET scope = %(scope)s, words = ARRAY(
    SELECT (%(scope)s::bigint & 2147483647) << 32 | (word & 4294967295) FROM unnest(words) WITH ORDINALITY AS old (word, n) ORDER BY n)
WHERE tenant = %(tenant)s AND record = %(number)s AND scope IS NOT NULL;

-- name: move_vectors
UPDATE vectors SET scope = %(scope)s
WHERE tenant = %(tenant)s AND scope IS NOT NULL
  AND content IN (SELECT number FROM contents WHERE tenant = %(tenant)s AND record = %(number)s);

-- name: recount
-- The live passages of these scopes, counted anew.
UPDATE scopes s SET passages = p.passages, terms = p.terms
FROM (
    SELECT counted.number, count(passages.length) AS passages, coalesce(sum(passages.length), 0) AS terms
    FROM unnest(%(scopes)s::bigint[]) AS counted (number)
    LEFT JOIN passages ON passages.tenant = counted.number >> 32 AND passages.scope = counted.number GROUP BY counted.number
) p
WHERE s.tenant = p.number >> 32 AND s.number = p.number;

-- name: move_events
-- Who may not read a note hears nothing of it, either.
UPDATE events SET scope = note.scope FROM unnest(%(ids)s::text[], %(scopes)s::text[]) AS note (id, scope)
WHERE events.scope IS NOT NULL AND events.records IS NULL AND substring(events.data FROM '"id": ?"([0-9a-f-]+)"') = note.id;

-- name: move_outbox
-- Nor of what has not been told yet.
UPDATE outbox SET scope = note.scope FROM unnest(%(ids)s::text[], %(scopes)s::text[]) AS note (id, scope)
WHERE outbox.scope IS NOT NULL AND outbox.records IS NULL AND substring(outbox.data FROM '"id": ?"([0-9a-f-]+)"') = note.id;
