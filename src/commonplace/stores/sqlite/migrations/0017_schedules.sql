-- What agents are told by themselves. `data` is the rest of it, as JSON; `version` grows with each change, of which it names the one before.
CREATE TABLE schedules (
    tenant TEXT NOT NULL,
    id TEXT NOT NULL,
    target TEXT NOT NULL,
    subject TEXT NOT NULL,
    enabled INTEGER NOT NULL,
    next_due INTEGER,
    created_at INTEGER NOT NULL,
    updated_at INTEGER NOT NULL,
    version INTEGER NOT NULL,
    data TEXT NOT NULL,
    PRIMARY KEY (tenant, id)
) WITHOUT ROWID;
CREATE INDEX schedules_target ON schedules (tenant, target);
CREATE INDEX schedules_due ON schedules (next_due) WHERE enabled AND next_due IS NOT NULL;

-- Targets, by the beginning of their names, in which nothing is said by itself; an empty one is the whole tenant.
CREATE TABLE schedule_pauses (
    tenant TEXT NOT NULL,
    target TEXT NOT NULL,
    at INTEGER NOT NULL,
    by_subject TEXT NOT NULL,
    PRIMARY KEY (tenant, target)
) WITHOUT ROWID;
