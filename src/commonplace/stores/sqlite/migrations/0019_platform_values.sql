-- What a chat platform has to know again after a restart: where it was, what its rooms are called there.
CREATE TABLE platform_values (
    tenant TEXT NOT NULL,
    channel TEXT NOT NULL,
    name TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (tenant, channel, name)
) WITHOUT ROWID;
