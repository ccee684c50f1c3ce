-- History: what was said in the sessions of an agent. `last` is the position of the last message, `messages` counts those that are
-- not hidden.
CREATE TABLE sessions (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    agent text COLLATE "C" NOT NULL,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    workspace text COLLATE "C",
    folder text,
    title text,
    model text,
    source text COLLATE "C" NOT NULL,
    shared boolean NOT NULL,
    archived_at bigint,
    messages bigint NOT NULL DEFAULT 0,
    last bigint NOT NULL DEFAULT 0,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX sessions_owner ON sessions (tenant, owner, updated_at, id);
CREATE INDEX sessions_used ON sessions (updated_at);
CREATE INDEX sessions_workspace ON sessions (tenant, workspace) WHERE workspace IS NOT NULL;

-- `words` are the hashes of a text's terms, with repeats; NULL: no search finds it.
CREATE TABLE messages (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    position bigint NOT NULL,
    id text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    role text COLLATE "C" NOT NULL,
    kind text COLLATE "C" NOT NULL,
    hidden boolean NOT NULL,
    run text COLLATE "C",
    call text COLLATE "C",
    speaker text COLLATE "C",
    text text NOT NULL,
    data text,
    words bigint[],
    PRIMARY KEY (tenant, session, position)
);
CREATE UNIQUE INDEX messages_id ON messages (tenant, session, id);
CREATE INDEX messages_speaker ON messages (tenant, speaker) WHERE speaker IS NOT NULL;
CREATE INDEX messages_words ON messages USING gin (words) WHERE words IS NOT NULL;
