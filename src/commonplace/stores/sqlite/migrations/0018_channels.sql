-- Channels: ways in by which chat rooms reach an agent. `settings` is JSON, and holds no secret.
CREATE TABLE channels (
    tenant TEXT NOT NULL,
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    settings TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, name)
) WITHOUT ROWID;

CREATE TABLE rooms (
    tenant TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    title TEXT NOT NULL,
    is_group INTEGER NOT NULL,
    paused INTEGER NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, channel, chat)
) WITHOUT ROWID;

-- What arrived and what was answered. `handled`: nothing is left to do about it.
CREATE TABLE room_messages (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    channel TEXT NOT NULL,
    chat TEXT NOT NULL,
    id TEXT NOT NULL,
    at INTEGER NOT NULL,
    author TEXT NOT NULL,
    sender TEXT NOT NULL,
    sender_name TEXT NOT NULL,
    text TEXT NOT NULL,
    data TEXT,
    handled INTEGER NOT NULL
);
CREATE UNIQUE INDEX room_messages_id ON room_messages (tenant, channel, chat, id);
CREATE INDEX room_messages_number ON room_messages (tenant, channel, chat, number);
CREATE INDEX room_messages_new ON room_messages (tenant, channel, number) WHERE handled = 0;

-- Which session of the agent the messages of a key go to.
CREATE TABLE room_routes (
    tenant TEXT NOT NULL,
    channel TEXT NOT NULL,
    key TEXT NOT NULL,
    session TEXT NOT NULL,
    chat TEXT NOT NULL,
    thread TEXT,
    is_group INTEGER NOT NULL,
    PRIMARY KEY (tenant, channel, key)
) WITHOUT ROWID;

CREATE TABLE channel_senders (
    tenant TEXT NOT NULL,
    channel TEXT NOT NULL,
    sender TEXT NOT NULL,
    name TEXT NOT NULL,
    code TEXT,
    code_at INTEGER,
    approved_at INTEGER,
    PRIMARY KEY (tenant, channel, sender)
) WITHOUT ROWID;

-- That a sender of a platform is a person here.
CREATE TABLE sender_links (
    tenant TEXT NOT NULL,
    identity TEXT NOT NULL,
    subject TEXT NOT NULL,
    created_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, identity)
) WITHOUT ROWID;
