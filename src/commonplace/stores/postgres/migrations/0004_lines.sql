-- Jobs that are done one after another stand in a line, and of a line at most one is running.
ALTER TABLE jobs ADD COLUMN line text;
CREATE UNIQUE INDEX jobs_line_running ON jobs (tenant, line) WHERE line IS NOT NULL AND state = 'running';
CREATE INDEX jobs_line ON jobs (tenant, line, state, updated_at) WHERE line IS NOT NULL;
