-- A page of a large scope, pinned first, is read as it stands here; so is how many live records a scope holds.
CREATE INDEX records_listed ON records (scope, pinned, importance, updated_at, number, expires_at)
    WHERE deleted_at IS NULL AND superseded_by IS NULL AND demoted = 0;

-- The rows of the audit that say which records were shown to somebody.
CREATE INDEX audit_recalls ON audit (tenant, at) WHERE action IN ('record.search', 'record.context');
