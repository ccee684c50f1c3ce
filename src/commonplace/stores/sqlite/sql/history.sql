-- name: add_session
-- Nothing happens where one with this id is there.
INSERT INTO sessions (
    tenant, id, owner, agent, created_at, updated_at, workspace, folder, title, model, source, shared, archived_at
) VALUES (
    :tenant, :id, :owner, :agent, :created_at, :updated_at, :workspace, :folder, :title, :model, :source, :shared, :archived_at
) ON CONFLICT (tenant, id) DO NOTHING;

-- name: sessions
SELECT s.id, s.owner, s.agent, s.created_at, s.updated_at, s.workspace, s.folder, s.title, s.model, s.source, s.shared,
    s.archived_at, s.messages
FROM sessions s;

-- name: session_ids
SELECT s.id FROM sessions s;

-- name: session_workspaces
SELECT DISTINCT workspace FROM sessions WHERE tenant = ? AND workspace IS NOT NULL ORDER BY workspace;

-- name: change_session
UPDATE sessions SET title = ifnull(:title, title), model = ifnull(:model, model), folder = ifnull(:folder, folder),
    shared = ifnull(:shared, shared),
    archived_at = CASE WHEN :archived IS NULL THEN archived_at WHEN :archived THEN ifnull(archived_at, :at) END
WHERE tenant = :tenant AND id = :id;

-- name: place
-- The number of a session, and the position of its last message.
SELECT number, last FROM sessions WHERE tenant = ? AND id = ?;

-- name: same_message
SELECT position, id, at, role, kind, hidden, run, call, speaker, text, data FROM messages WHERE session = ? AND id = ?;

-- name: same_position
SELECT id FROM messages WHERE session = ? AND position = ?;

-- name: add_message
INSERT INTO messages (session, position, id, at, role, kind, hidden, run, call, speaker, text, data, words)
VALUES (:session, :position, :id, :at, :role, :kind, :hidden, :run, :call, :speaker, :text, :data, :words);

-- name: add_words
INSERT INTO message_words (rowid, words) VALUES (?, ?);

-- name: renew_session
-- After messages were added; the times only grow.
UPDATE sessions SET last = max(last, :last), messages = messages + :visible, updated_at = max(updated_at, :at),
    title = ifnull(title, :title)
WHERE number = :number;

-- name: messages
SELECT position, id, at, role, kind, hidden, run, call, speaker, text, data FROM messages;

-- name: is_beside
-- Whether there are messages on either side.
SELECT EXISTS (SELECT 1 FROM messages WHERE session = :number AND position < :first AND hidden <= :hidden),
    EXISTS (SELECT 1 FROM messages WHERE session = :number AND position > :last AND hidden <= :hidden);

-- name: candidates
-- The newest messages that have a word.
SELECT s.number, m.number, m.words
FROM message_words w CROSS JOIN messages m ON m.number = w.rowid CROSS JOIN sessions s ON s.number = m.session;

-- name: hit
SELECT m.position, m.id, m.at, m.role, m.kind, m.hidden, m.run, m.call, m.speaker, m.text, m.data,
    s.id, s.owner, s.agent, s.created_at, s.updated_at, s.workspace, s.folder, s.title, s.model, s.source, s.shared,
    s.archived_at, s.messages
FROM messages m JOIN sessions s ON s.number = m.session WHERE m.number = ?;

-- name: drop_words
DELETE FROM message_words WHERE rowid IN (SELECT number FROM messages WHERE session = ? AND words IS NOT NULL);

-- name: drop_messages
DELETE FROM messages WHERE session = ?;

-- name: drop_lease
-- Whoever leads the session adds nothing more.
DELETE FROM session_leases WHERE (tenant, session) = (SELECT tenant, id FROM sessions WHERE number = ?);

-- name: drop_session
DELETE FROM sessions WHERE number = ?;

-- name: sessions_of
SELECT number FROM sessions WHERE tenant = ? AND owner = ?;

-- name: said_by
-- What somebody said in sessions of others.
SELECT m.number, m.words IS NOT NULL FROM messages m JOIN sessions s ON s.number = m.session
WHERE m.speaker = :owner AND s.tenant = :tenant AND s.owner <> :owner;

-- name: empty_message
UPDATE messages SET text = '', data = '{"purged":true}', words = NULL, speaker = NULL WHERE number = ?;

-- name: drop_word
DELETE FROM message_words WHERE rowid = ?;

-- name: unused_sessions
SELECT number, tenant, id FROM sessions WHERE updated_at < ? ORDER BY updated_at LIMIT ?;

-- name: merge_words
-- Deleted entries stay in the index until its segments are merged.
INSERT INTO message_words (message_words) VALUES ('optimize');

-- name: clear_words
INSERT INTO message_words (message_words) VALUES ('delete-all');

-- name: found_messages
-- Of every tenant, those that a search may find.
SELECT m.number, s.tenant, m.text FROM messages m JOIN sessions s ON s.number = m.session
WHERE m.number > ? AND m.hidden = 0 AND m.kind = 'text' AND m.role IN ('user', 'assistant') ORDER BY m.number LIMIT ?;

-- name: set_words
UPDATE messages SET words = ? WHERE number = ?;
