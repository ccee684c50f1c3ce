-- name: session_columns
-- What a session is read from.
s.id, s.owner, s.agent, s.created_at, s.updated_at, s.workspace, s.folder, s.title, s.model, s.source, s.shared,
s.archived_at, s.messages

-- name: message_columns
-- What a message is read from.
m.position, m.id, m.at, m.role, m.kind, m.hidden, m.run, m.call, m.speaker, m.text, m.data

-- name: reached
-- Which sessions a filter lets through.
s.tenant = %(tenant)s
AND (%(owner)s::text IS NULL OR (s.shared AND s.workspace = ANY(%(shared_in)s::text[]))
     OR (s.owner = %(owner)s AND (%(own_in)s::text[] IS NULL OR s.workspace = ANY(%(own_in)s::text[]))))
AND (%(agent)s::text IS NULL OR s.agent = %(agent)s)
AND (%(workspace)s::text IS NULL OR s.workspace = %(workspace)s)
AND (%(session)s::text IS NULL OR s.id = %(session)s)
AND (%(archived)s::boolean IS NULL OR (s.archived_at IS NOT NULL) = %(archived)s)

-- name: add_session
-- Nothing happens where one with this id is there.
INSERT INTO sessions AS s (
    tenant, id, owner, agent, created_at, updated_at, workspace, folder, title, model, source, shared, archived_at
) VALUES (
    %(tenant)s, %(id)s, %(owner)s, %(agent)s, %(created_at)s, %(updated_at)s, %(workspace)s, %(folder)s, %(title)s, %(model)s,
    %(source)s, %(shared)s, %(archived_at)s
) ON CONFLICT (tenant, id) DO NOTHING RETURNING {session_columns};

-- name: session
-- One of them.
SELECT {session_columns} FROM sessions s WHERE s.tenant = %(tenant)s AND s.id = %(id)s;

-- name: sessions
-- Those used last first.
SELECT {session_columns} FROM sessions s
WHERE {reached} AND (%(used)s::bigint IS NULL OR (s.updated_at, s.id) < (%(used)s, %(last_id)s))
ORDER BY s.updated_at DESC, s.id DESC LIMIT %(limit)s;

-- name: session_ids
-- All of them.
SELECT s.id FROM sessions s WHERE {reached} ORDER BY s.id;

-- name: session_workspaces
-- Those that sessions are about.
SELECT DISTINCT workspace FROM sessions WHERE tenant = %(tenant)s AND workspace IS NOT NULL ORDER BY workspace;

-- name: change_session
-- What may be changed of a session.
UPDATE sessions s SET title = coalesce(%(title)s, s.title), model = coalesce(%(model)s, s.model),
    folder = coalesce(%(folder)s, s.folder), shared = coalesce(%(shared)s::boolean, s.shared),
    archived_at = CASE WHEN %(archived)s::boolean IS NULL THEN s.archived_at
                       WHEN %(archived)s::boolean THEN coalesce(s.archived_at, %(at)s) END
WHERE s.tenant = %(tenant)s AND s.id = %(id)s RETURNING {session_columns};

-- name: place
-- The position of a session's last message.
SELECT last FROM sessions WHERE tenant = %(tenant)s AND id = %(session)s;

-- name: lock_place
-- One writer a session at a time, so that positions have no gaps.
SELECT last FROM sessions WHERE tenant = %(tenant)s AND id = %(session)s FOR UPDATE;

-- name: same_messages
-- Those of these ids that are there.
SELECT {message_columns} FROM messages m
WHERE m.tenant = %(tenant)s AND m.session = %(session)s AND m.id = ANY(%(ids)s::text[]);

-- name: same_positions
-- Whether one of these positions is taken.
SELECT 1 FROM messages m
WHERE m.tenant = %(tenant)s AND m.session = %(session)s AND m.position = ANY(%(positions)s::bigint[]) LIMIT 1;

-- name: add_message
-- A message at its position.
INSERT INTO messages (tenant, session, position, id, at, role, kind, hidden, run, call, speaker, text, data, words)
VALUES (%(tenant)s, %(session)s, %(position)s, %(id)s, %(at)s, %(role)s, %(kind)s, %(hidden)s, %(run)s, %(call)s, %(speaker)s,
    %(text)s, %(data)s, %(words)s::bigint[]);

-- name: renew_session
-- After messages were added; the times only grow.
UPDATE sessions SET last = greatest(last, %(last)s), messages = messages + %(visible)s,
    updated_at = greatest(updated_at, %(at)s), title = coalesce(title, %(title)s)
WHERE tenant = %(tenant)s AND id = %(session)s;

-- name: first_messages
-- Those behind a position.
SELECT {message_columns} FROM messages m
WHERE m.tenant = %(tenant)s AND m.session = %(session)s AND m.position > %(after)s
  AND (%(before)s::bigint IS NULL OR m.position < %(before)s) AND (%(hidden)s OR NOT m.hidden)
ORDER BY m.position LIMIT %(limit)s;

-- name: last_messages
-- The last ones, or the last before a position.
SELECT {message_columns} FROM messages m
WHERE m.tenant = %(tenant)s AND m.session = %(session)s
  AND (%(before)s::bigint IS NULL OR m.position < %(before)s) AND (%(hidden)s OR NOT m.hidden)
ORDER BY m.position DESC LIMIT %(limit)s;

-- name: is_beside
-- Whether there are messages on either side.
SELECT EXISTS (SELECT 1 FROM messages m WHERE m.tenant = %(tenant)s AND m.session = %(session)s AND m.position < %(first)s
               AND (%(hidden)s OR NOT m.hidden)),
       EXISTS (SELECT 1 FROM messages m WHERE m.tenant = %(tenant)s AND m.session = %(session)s AND m.position > %(last)s
               AND (%(hidden)s OR NOT m.hidden));

-- name: candidates
-- For each word the newest messages that have it.
SELECT found.session, found.position, found.at, found.words FROM unnest(%(words)s::bigint[]) AS asked (word)
CROSS JOIN LATERAL (
    SELECT m.session, m.position, m.at, m.words FROM messages m JOIN sessions s ON s.tenant = m.tenant AND s.id = m.session
    WHERE m.words @> ARRAY[asked.word] AND m.words IS NOT NULL AND {reached}
    ORDER BY m.at DESC, m.position DESC LIMIT %(most)s
) found;

-- name: hits
-- Messages and their sessions, in the order asked for.
SELECT {message_columns}, {session_columns}
FROM unnest(%(sessions)s::text[], %(positions)s::bigint[]) WITH ORDINALITY AS asked (session, position, n)
JOIN messages m ON m.tenant = %(tenant)s AND m.session = asked.session AND m.position = asked.position
JOIN sessions s ON s.tenant = m.tenant AND s.id = m.session ORDER BY asked.n;

-- name: drop_session
-- The session alone.
DELETE FROM sessions WHERE tenant = %(tenant)s AND id = %(session)s RETURNING tenant, id;

-- name: drop_leases
-- Of all of these sessions: whoever leads one adds nothing more.
DELETE FROM session_leases l USING unnest(%(tenants)s::text[], %(sessions)s::text[]) AS gone (tenant, session)
WHERE l.tenant = gone.tenant AND l.session = gone.session;

-- name: drop_messages
-- All of these sessions. In a statement of its own, after the sessions: it sees what was said until they were locked.
DELETE FROM messages m USING unnest(%(tenants)s::text[], %(sessions)s::text[]) AS gone (tenant, session)
WHERE m.tenant = gone.tenant AND m.session = gone.session;

-- name: drop_sessions_of
-- All of a person.
DELETE FROM sessions WHERE tenant = %(tenant)s AND owner = %(owner)s RETURNING tenant, id;

-- name: empty_messages
-- What somebody said in sessions of others.
UPDATE messages SET text = '', data = '{"purged":true}', words = NULL, speaker = NULL
WHERE tenant = %(tenant)s AND speaker = %(owner)s;

-- name: expire_sessions
-- Those unused for longest. One that somebody writes to now is not among them.
WITH unused AS (
    SELECT tenant, id FROM sessions WHERE updated_at < %(before)s ORDER BY updated_at LIMIT %(limit)s FOR UPDATE SKIP LOCKED
)
DELETE FROM sessions s USING unused u WHERE s.tenant = u.tenant AND s.id = u.id RETURNING s.tenant, s.id;

-- name: found_messages
-- Of every tenant, those that a search may find.
SELECT m.tenant, m.session, m.position, m.text FROM messages m
WHERE (m.tenant, m.session, m.position) > (%(tenant)s, %(session)s, %(position)s)
  AND NOT m.hidden AND m.kind = 'text' AND m.role IN ('user', 'assistant')
ORDER BY m.tenant, m.session, m.position LIMIT %(limit)s;

-- name: set_words
-- The words of one message.
UPDATE messages SET words = %(words)s::bigint[]
WHERE tenant = %(tenant)s AND session = %(session)s AND position = %(position)s;
