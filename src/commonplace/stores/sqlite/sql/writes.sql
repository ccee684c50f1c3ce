-- name: add_scope
-- A scope needs no registration: it comes to be with its first record.
INSERT INTO scopes (tenant, kind, id) VALUES (?, ?, ?) ON CONFLICT DO NOTHING;

-- name: scope_number
SELECT number FROM scopes WHERE tenant = ? AND kind = ? AND id = ?;

-- name: move_on
-- A scope after a write: the next seq, and what became live or ceased to be.
UPDATE scopes SET seq = seq + 1, epoch = epoch + :epoch, passages = passages + :passages, terms = terms + :terms
WHERE number = :scope RETURNING seq;

-- name: next_seq
SELECT seq + 1 FROM scopes WHERE number = ?;

-- name: take_numbers
UPDATE counters SET next = next + :many WHERE name = :name RETURNING next - :many;

-- name: add_content
INSERT INTO contents (number, record, text) VALUES (?, ?, ?);

-- name: add_passage
INSERT INTO passages (number, start, stop, length, terms) VALUES (?, ?, ?, ?, ?);

-- name: add_vector
INSERT OR REPLACE INTO vectors (embedder, scope, passage, vector) VALUES (?, ?, ?, ?);

-- name: add_words
INSERT INTO words (rowid, terms) VALUES (?, ?);

-- name: drop_words
DELETE FROM words WHERE rowid = ?;

-- name: passages_of
-- number, length and terms of the passages of a content.
SELECT number, length, terms FROM passages WHERE number BETWEEN :content * 4096 AND :content * 4096 + 4095;

-- name: move_vectors
-- To another scope, or to the shelf of what is not live (the negated number).
UPDATE vectors SET scope = :to
WHERE embedder = :embedder AND scope = :from AND passage BETWEEN :content * 4096 AND :content * 4096 + 4095;

-- name: add_record
INSERT INTO records (
    number, id, scope, seq, once, version, content, kind, key, source, tags, metadata, pinned, importance, trust,
    visibility, at, expires_at, session, position, speaker, provenance, demoted, superseded_by, deleted_at, created_at,
    updated_at, change, actor, reason, restores
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: change_record
-- Everything but number, id and mark.
UPDATE records SET (
    scope, seq, version, content, kind, key, source, tags, metadata, pinned, importance, trust, visibility, at,
    expires_at, session, position, speaker, provenance, demoted, superseded_by, deleted_at, created_at, updated_at,
    change, actor, reason, restores
) = (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) WHERE number = ?;

-- name: keep_version
-- The version held becomes a past one.
INSERT INTO versions (
    number, version, scope, content, kind, key, source, tags, metadata, pinned, importance, trust, visibility, at,
    expires_at, session, position, speaker, provenance, demoted, superseded_by, deleted_at, created_at, updated_at,
    change, actor, reason, restores
) SELECT
    number, version, scope, content, kind, key, source, tags, metadata, pinned, importance, trust, visibility, at,
    expires_at, session, position, speaker, provenance, demoted, superseded_by, deleted_at, created_at, updated_at,
    change, actor, reason, restores
FROM records WHERE number = ?;

-- name: add_version
INSERT INTO versions (
    number, scope, version, content, kind, key, source, tags, metadata, pinned, importance, trust, visibility, at,
    expires_at, session, position, speaker, provenance, demoted, superseded_by, deleted_at, created_at, updated_at,
    change, actor, reason, restores
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: held_by_key
SELECT number, scope, content FROM records WHERE scope = ? AND key = ?;

-- name: held_by_mark
SELECT number, scope, content FROM records WHERE scope = ? AND once = ?;

-- name: held_by_id
SELECT r.number, r.scope, r.content FROM records r JOIN scopes s ON s.number = r.scope WHERE r.id = ? AND s.tenant = ?;

-- name: contents_of
-- Every content of a record, past and present, and the scope it stands in now.
SELECT r.content, r.scope FROM records r WHERE r.number = :number
UNION SELECT v.content, r.scope FROM versions v JOIN records r ON r.number = v.number WHERE v.number = :number;

-- name: scopes_of
-- Every scope that a record was ever in.
SELECT scope FROM records WHERE number = :number UNION SELECT scope FROM versions WHERE number = :number;

-- name: drop_vectors
DELETE FROM vectors WHERE embedder = :embedder AND scope IN (:scope, -:scope)
AND passage BETWEEN :content * 4096 AND :content * 4096 + 4095;

-- name: drop_passages
DELETE FROM passages WHERE number BETWEEN :content * 4096 AND :content * 4096 + 4095;

-- name: drop_content
DELETE FROM contents WHERE number = ?;

-- name: drop_versions
DELETE FROM versions WHERE number = ?;

-- name: drop_layers
DELETE FROM layers WHERE record = ?;

-- name: drop_record
DELETE FROM records WHERE number = ?;

-- name: next_place
SELECT ifnull(max(position), -1) + 1 FROM records WHERE scope = ? AND session = ?;

-- name: leave_mark
-- A record that moves to a scope where its mark is taken moves without it: there the mark keeps its meaning.
UPDATE records SET once = NULL WHERE number = :number
AND EXISTS (SELECT 1 FROM records r WHERE r.scope = :scope AND r.once = records.once);

-- name: forget_scope
DELETE FROM scopes WHERE number = :scope AND NOT EXISTS (SELECT 1 FROM records WHERE scope = :scope)
AND NOT EXISTS (SELECT 1 FROM versions WHERE scope = :scope);

-- name: placed
-- Where a record is, its content, and whether it is live.
SELECT scope, content, deleted_at IS NULL AND superseded_by IS NULL AND demoted = 0 FROM records WHERE number = ?;

-- name: leave_key
-- As leave_mark, for the key.
UPDATE records SET key = NULL WHERE number = :number
AND EXISTS (SELECT 1 FROM records r WHERE r.scope = :scope AND r.key = records.key);

-- name: move_versions
UPDATE versions SET scope = :scope WHERE number = :number;

-- name: move_record
UPDATE records SET scope = :scope, seq = :seq WHERE number = :number;
