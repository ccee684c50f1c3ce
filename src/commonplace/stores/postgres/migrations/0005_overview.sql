-- A page of a large scope is read as it stands here; so is how many live records a scope holds, and when it was last written.
CREATE INDEX records_listed ON records (tenant, scope, pinned, importance, updated_at, id) INCLUDE (expires_at) WHERE live;
CREATE INDEX records_newest ON records (tenant, scope, updated_at, id);

-- The rows of the audit that say which records were shown to somebody.
CREATE INDEX audit_recalls ON audit (tenant, at, number) WHERE action IN ('record.search', 'record.context');
