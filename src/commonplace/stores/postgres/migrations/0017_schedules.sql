-- What agents are told by themselves. `data` is the rest of it, as JSON; `version` grows with each change, of which it names the one before.
CREATE TABLE schedules (
    tenant text COLLATE "C" NOT NULL,
    id text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    subject text COLLATE "C" NOT NULL,
    enabled boolean NOT NULL,
    next_due bigint,
    created_at bigint NOT NULL,
    updated_at bigint NOT NULL,
    version bigint NOT NULL,
    data text NOT NULL,
    PRIMARY KEY (tenant, id)
);
CREATE INDEX schedules_target ON schedules (tenant, target);
CREATE INDEX schedules_due ON schedules (next_due) WHERE enabled AND next_due IS NOT NULL;

-- Targets, by the beginning of their names, in which nothing is said by itself; an empty one is the whole tenant.
CREATE TABLE schedule_pauses (
    tenant text COLLATE "C" NOT NULL,
    target text COLLATE "C" NOT NULL,
    at bigint NOT NULL,
    by_subject text NOT NULL,
    PRIMARY KEY (tenant, target)
);
