-- A store changes its embedders while it is searched: those that are coming have vectors of some texts, those that are leaving answer
-- nobody any more.
ALTER TABLE embedders ADD COLUMN stage TEXT NOT NULL DEFAULT 'active' CHECK (stage IN ('active', 'coming', 'leaving'));
