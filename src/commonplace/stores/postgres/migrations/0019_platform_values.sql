-- What a chat platform has to know again after a restart: where it was, what its rooms are called there.
CREATE TABLE platform_values (
    tenant text COLLATE "C" NOT NULL,
    channel text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    value text NOT NULL,
    PRIMARY KEY (tenant, channel, name)
);
