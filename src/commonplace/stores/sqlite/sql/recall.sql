-- name: marks
SELECT kind, id, number, seq, epoch, passages, terms FROM scopes WHERE tenant = ?;

-- name: mark
SELECT kind, id, number, seq, epoch, passages, terms FROM scopes WHERE tenant = ? AND kind = ? AND id = ?;

-- name: mark_again
SELECT kind, id, number, seq, epoch, passages, terms FROM scopes WHERE number = ?;

-- name: marks_again
SELECT s.kind, s.id, s.number, s.seq, s.epoch, s.passages, s.terms
FROM json_each(?) j CROSS JOIN scopes s ON s.number = j.value ORDER BY s.number;

-- name: changed
-- Numbers of the records of a scope written after a seq.
SELECT number FROM records WHERE scope = ? AND seq > ?;

-- name: changed_entries
-- The passages of those of them that are live.
SELECT v.number, v.version, p.number, p.number & 4095, p.length, p.terms, p.start, p.stop, v.session, v.position,
    ifnull(v.at, v.created_at), v.pinned, v.importance, v.expires_at
FROM records v CROSS JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE v.scope = :scope AND v.seq > :after AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
ORDER BY v.number, p.number;

-- name: whole_of
-- The passages of all live records of several scopes, each behind the number of its scope.
SELECT v.scope, v.number, v.version, p.number, p.number & 4095, p.length, p.terms, p.start, p.stop, v.session, v.position,
    ifnull(v.at, v.created_at), v.pinned, v.importance, v.expires_at
FROM json_each(?) j CROSS JOIN records v ON v.scope = j.value
CROSS JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
ORDER BY v.scope, v.number, p.number;

-- name: scope_vectors
SELECT passage, vector FROM vectors WHERE embedder = ? AND scope = ?;

-- name: passage_vectors
SELECT x.passage, x.vector FROM json_each(:passages) j
CROSS JOIN vectors x ON x.embedder = :embedder AND x.scope IN (:scope, -:scope) AND x.passage = j.value;

-- name: past_entries
-- Each record that was ever in a scope, in the version that stood at a moment, if it was live and in that scope then.
WITH numbers AS (
    SELECT number FROM records WHERE scope = :scope UNION SELECT number FROM versions WHERE scope = :scope
), told AS (
    SELECT number, version, content, scope, session, position, at, created_at, pinned, importance, expires_at,
        deleted_at, superseded_by, demoted
    FROM records WHERE updated_at <= :moment AND number IN (SELECT number FROM numbers)
    UNION ALL
    SELECT number, version, content, scope, session, position, at, created_at, pinned, importance, expires_at,
        deleted_at, superseded_by, demoted
    FROM versions WHERE updated_at <= :moment AND number IN (SELECT number FROM numbers)
), stood AS (
    SELECT *, max(version) FROM told GROUP BY number
)
SELECT v.number, v.version, p.number, p.number & 4095, p.length, p.terms, p.start, p.stop, v.session, v.position,
    ifnull(v.at, v.created_at), v.pinned, v.importance, v.expires_at
FROM stood v CROSS JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE v.scope = :scope AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
ORDER BY v.number, p.number;

-- name: stood_then
-- Whether a record stood at a moment as it stands now.
SELECT updated_at <= ? FROM records WHERE number = ?;

-- name: entries_now_of
-- The passages of one record as it stands, by its number alone.
SELECT v.number, v.version, p.number, p.number & 4095, p.length, p.terms, p.start, p.stop, v.session, v.position,
    ifnull(v.at, v.created_at), v.pinned, v.importance, v.expires_at
FROM (SELECT * FROM records WHERE number = :number AND updated_at <= :moment) v
CROSS JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE v.scope = :scope AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
ORDER BY p.number;

-- name: entries_then_of
-- The passages of one record as it stood at a moment before its last version.
SELECT v.number, v.version, p.number, p.number & 4095, p.length, p.terms, p.start, p.stop, v.session, v.position,
    ifnull(v.at, v.created_at), v.pinned, v.importance, v.expires_at
FROM (SELECT *, max(version) FROM versions WHERE number = :number AND updated_at <= :moment) v
CROSS JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE v.scope = :scope AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
ORDER BY p.number;

-- name: homes_of
-- The scopes that records stand in now: their vectors are there.
SELECT v.number, v.scope FROM json_each(?) j CROSS JOIN records v ON v.number = j.value;

-- name: having
-- Passages with a term. Newest last.
SELECT rowid FROM words WHERE words MATCH ?;

-- name: newest_having
SELECT rowid FROM words WHERE words MATCH ? ORDER BY rowid DESC LIMIT ?;

-- name: newest_having_among
SELECT rowid FROM words WHERE words MATCH :match
    AND rowid / 4096 IN (SELECT v.content FROM json_each(:among) j CROSS JOIN records v ON v.number = j.value)
ORDER BY rowid DESC LIMIT :limit;

-- name: owners
-- Passages with the records they are of.
SELECT j.value, c.record FROM json_each(?) j CROSS JOIN contents c ON c.number = j.value / 4096;

-- name: how_many
SELECT count(*) FROM words WHERE words MATCH ?;

-- name: nearest
SELECT passage FROM vectors WHERE embedder = :embedder AND scope IN (SELECT value FROM json_each(:scopes))
    AND length(vector) = length(:vector)
ORDER BY vec_distance_cosine(vec_int8(vector), vec_int8(:vector)) LIMIT :limit;

-- name: nearest_among
-- The same, of some records only.
SELECT passage FROM vectors WHERE embedder = :embedder AND scope IN (SELECT value FROM json_each(:scopes))
    AND length(vector) = length(:vector) AND passage / 4096 IN (SELECT v.content FROM json_each(:among) j CROSS JOIN records v ON v.number = j.value)
ORDER BY vec_distance_cosine(vec_int8(vector), vec_int8(:vector)) LIMIT :limit;

-- name: with_neighbours
-- These records, and those of the turns just before and after them. The index is named, and the order of the join is
-- fixed, because SQLite would otherwise walk through the whole scope for each record.
SELECT value FROM json_each(:records)
UNION SELECT r.number FROM json_each(:records) j CROSS JOIN records v ON v.number = j.value AND v.session IS NOT NULL
CROSS JOIN main.records r INDEXED BY records_session ON r.scope = v.scope AND r.session = v.session
    AND r.session IS NOT NULL AND r.position BETWEEN v.position - 1 AND v.position + 1;

-- name: record_of
SELECT record FROM contents WHERE number = ?;

-- name: records_with
SELECT DISTINCT c.record FROM json_each(?) j CROSS JOIN contents c ON c.number = j.value / 4096;

-- name: entries_of
SELECT v.number, v.version, p.number, p.number & 4095, p.length, p.terms, p.start, p.stop, v.session, v.position,
    ifnull(v.at, v.created_at), v.pinned, v.importance, v.expires_at
FROM json_each(:records) j CROSS JOIN records v ON v.number = j.value
CROSS JOIN passages p ON p.number BETWEEN v.content * 4096 AND v.content * 4096 + 4095
WHERE v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
ORDER BY v.number, p.number;
