-- The audit is sealed: each seal holds a hash of the rows since the one before, together with that one's hash. `last` is the number of
-- the last row that it covers, `latest` the latest moment of them. Of a `trimmed` one the rows are gone, and it stays.
CREATE TABLE seals (
    number INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    last INTEGER NOT NULL,
    count INTEGER NOT NULL,
    latest INTEGER NOT NULL,
    hash BLOB NOT NULL,
    trimmed INTEGER NOT NULL DEFAULT 0
);
CREATE TRIGGER seals_are_not_changed BEFORE UPDATE OF number, at, last, count, latest, hash ON seals BEGIN
    SELECT raise(ABORT, 'seals are never changed');
END;
CREATE TRIGGER seals_are_not_deleted BEFORE DELETE ON seals BEGIN
    SELECT raise(ABORT, 'seals are never removed');
END;

-- Rows of the audit go only after their seal was marked.
DROP TRIGGER audit_is_not_deleted;
CREATE TRIGGER audit_is_not_deleted BEFORE DELETE ON audit
WHEN OLD.number > (SELECT ifnull(max(last), -9223372036854775808) FROM seals WHERE trimmed = 1) BEGIN
    SELECT raise(ABORT, 'the audit is append-only');
END;

-- Moments that later releases count from. Sessions that are there now end as if they were last written to now.
CREATE TABLE milestones (
    name TEXT PRIMARY KEY,
    at INTEGER NOT NULL
) WITHOUT ROWID;
INSERT INTO milestones (name, at)
SELECT 'sessions_end', unixepoch() * 1000 WHERE EXISTS (SELECT 1 FROM scopes WHERE kind = 'session');
