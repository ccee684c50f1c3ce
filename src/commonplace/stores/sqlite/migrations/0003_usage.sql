-- What models cost, in millionths of a dollar: a line a task. Nothing of a text is in it.
CREATE TABLE usage (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    tenant TEXT NOT NULL,
    at INTEGER NOT NULL,
    session TEXT NOT NULL,
    purpose TEXT NOT NULL,
    model TEXT NOT NULL,
    agent TEXT,
    workspace TEXT,
    input_tokens INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    cost INTEGER NOT NULL,
    ok INTEGER NOT NULL
);
CREATE INDEX usage_tenant ON usage (tenant, at);

-- What a tenant may spend a day, where that is not what the daemon is set to.
CREATE TABLE budgets (
    tenant TEXT PRIMARY KEY,
    daily INTEGER NOT NULL
) WITHOUT ROWID;
