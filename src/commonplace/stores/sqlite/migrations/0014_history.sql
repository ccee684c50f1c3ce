-- History: what was said in the sessions of an agent. `last` is the position of the last message, `messages` counts those that are
-- not hidden.
CREATE TABLE sessions (
    number INTEGER PRIMARY KEY,
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    agent TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    workspace TEXT,
    folder TEXT,
    title TEXT,
    model TEXT,
    source TEXT NOT NULL,
    shared INTEGER NOT NULL,
    archived_at INTEGER,
    messages INTEGER NOT NULL DEFAULT 0,
    last INTEGER NOT NULL DEFAULT 0
);
CREATE UNIQUE INDEX sessions_id ON sessions (tenant, id);
CREATE INDEX sessions_owner ON sessions (tenant, owner, updated_at, id);
CREATE INDEX sessions_used ON sessions (updated_at);
CREATE INDEX sessions_workspace ON sessions (tenant, workspace) WHERE workspace IS NOT NULL;

-- `words` are the hashes of a text's terms, with repeats, eight bytes each; NULL: no search finds it.
CREATE TABLE messages (
    number INTEGER PRIMARY KEY,
    session INTEGER NOT NULL,
    position INTEGER NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    role TEXT NOT NULL,
    kind TEXT NOT NULL,
    hidden INTEGER NOT NULL,
    run TEXT,
    call TEXT,
    speaker TEXT,
    text TEXT NOT NULL,
    data TEXT,
    words BLOB
);
CREATE UNIQUE INDEX messages_position ON messages (session, position);
CREATE UNIQUE INDEX messages_id ON messages (session, id);
CREATE INDEX messages_speaker ON messages (speaker) WHERE speaker IS NOT NULL;

CREATE VIRTUAL TABLE message_words USING fts5 (words, content = '', contentless_delete = 1, detail = none, tokenize = 'ascii');
