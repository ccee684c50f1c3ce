-- name: count_records
-- All, live, deleted.
SELECT count(*), sum(v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
    AND (v.expires_at IS NULL OR v.expires_at > :now)), sum(v.deleted_at IS NOT NULL)
FROM records v JOIN scopes s ON s.number = v.scope WHERE s.tenant = :tenant;

-- name: count_scopes
SELECT s.kind, s.id, (SELECT count(*) FROM records v WHERE v.scope = s.number), s.passages
FROM scopes s WHERE s.tenant = ? ORDER BY s.kind, s.id;

-- name: count_versions
SELECT count(*) FROM versions v JOIN records r ON r.number = v.number JOIN scopes s ON s.number = r.scope
WHERE s.tenant = ?;

-- name: holds_something
-- Anything that a restore would take away.
SELECT EXISTS (SELECT 1 FROM records) OR EXISTS (SELECT 1 FROM audit) OR EXISTS (SELECT 1 FROM events)
    OR EXISTS (SELECT 1 FROM jobs) OR EXISTS (SELECT 1 FROM keys) OR EXISTS (SELECT 1 FROM users)
    OR EXISTS (SELECT 1 FROM owners) OR EXISTS (SELECT 1 FROM knowledge_spaces) OR EXISTS (SELECT 1 FROM seals)
    OR EXISTS (SELECT 1 FROM sessions);

-- name: active_embedders
SELECT name, dimension FROM embedders WHERE name NOT IN (SELECT name FROM embedder_stages) ORDER BY number;

-- name: add_passage
INSERT INTO passages (number, start, stop, length, terms) VALUES (?, ?, ?, ?, ?);

-- name: count_more
UPDATE scopes SET passages = passages + 1, terms = terms + ? WHERE number = ?;

-- name: count_fewer
-- Before the passages of a live content go: those that the word index holds were counted.
UPDATE scopes SET (passages, terms) = (
    SELECT scopes.passages - count(*), scopes.terms - ifnull(sum(p.length), 0) FROM passages p
    WHERE p.number BETWEEN :content * 4096 AND :content * 4096 + 4095
        AND EXISTS (SELECT 1 FROM words_docsize w WHERE w.id = p.number)
) WHERE number = :scope;

-- name: contents
-- Speaker and time are those of the version held now.
SELECT c.number, c.text, v.speaker, v.at FROM contents c JOIN records v ON v.number = c.record
WHERE c.number > ? ORDER BY c.number LIMIT ?;

-- name: home_of_content
-- The scope, and whether the content is what a search may find.
SELECT v.scope, v.content = c.number AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
FROM contents c JOIN records v ON v.number = c.record WHERE c.number = ?;

-- name: live_passages
SELECT p.number, v.scope, p.terms
FROM records v JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0;

-- name: drop_stray_vectors
DELETE FROM vectors WHERE NOT EXISTS (SELECT 1 FROM passages p WHERE p.number = vectors.passage);

-- name: recount
-- What the word index holds of each scope, as count_fewer will take it away.
WITH held AS (
    SELECT v.scope, count(*) AS passages, sum(p.length) AS terms
    FROM words_docsize w CROSS JOIN passages p ON p.number = w.id CROSS JOIN contents c ON c.number = w.id / 4096
    CROSS JOIN records v ON v.number = c.record GROUP BY v.scope
)
UPDATE scopes SET passages = ifnull((SELECT passages FROM held WHERE held.scope = scopes.number), 0),
    terms = ifnull((SELECT terms FROM held WHERE held.scope = scopes.number), 0);

-- name: clear_words
DELETE FROM words WHERE rowid IN (SELECT id FROM words_docsize WHERE id BETWEEN :content * 4096 AND :content * 4096 + 4095);

-- name: clear_passages
DELETE FROM passages WHERE number BETWEEN :content * 4096 AND :content * 4096 + 4095;

-- name: clear_vectors
DELETE FROM vectors WHERE embedder = :embedder AND scope IN (:scope, -:scope)
AND passage BETWEEN :content * 4096 AND :content * 4096 + 4095;

-- name: idle_sessions
SELECT s.tenant, s.id FROM scopes s
WHERE s.kind = 'session'
    AND (SELECT max(v.updated_at) FROM records v WHERE v.scope = s.number) < :before
    AND ifnull((SELECT at FROM milestones WHERE name = 'sessions_end'), 0) < :before
    AND EXISTS (SELECT 1 FROM records v WHERE v.scope = s.number AND v.deleted_at IS NULL AND v.pinned = 0)
    AND NOT EXISTS (SELECT 1 FROM rules r WHERE r.tenant = s.tenant AND r.max_age IS NOT NULL
        AND r.scope IN ('session', 'session:' || s.id))
ORDER BY s.number LIMIT :limit;

-- name: rules
SELECT scope, max_age, max_records FROM rules WHERE tenant = ? ORDER BY scope;

-- name: log
INSERT INTO upkeep (tenant, at, action, scope, records, detail) VALUES (?, ?, ?, ?, ?, ?);

-- name: read_log
SELECT at, action, scope, records, detail FROM upkeep WHERE tenant = ? AND at >= ? ORDER BY number DESC LIMIT ?;
