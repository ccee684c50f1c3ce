-- Sessions that were ended before their time: `mark` stands for one of them, or for all of a key, of which those that would
-- end by `until` are over. Nothing of it tells which key it was.
CREATE TABLE ended_sessions (
    mark TEXT PRIMARY KEY,
    until INTEGER NOT NULL
) WITHOUT ROWID;

-- What was recalled from managed Markdown was shown to somebody, too.
DROP INDEX audit_recalls;
CREATE INDEX audit_recalls ON audit (tenant, at) WHERE action IN ('record.search', 'record.context', 'managed.recall');

-- Which records gave way to one.
CREATE INDEX records_superseded ON records (superseded_by, scope) WHERE superseded_by IS NOT NULL;
