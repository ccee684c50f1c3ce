-- A store changes its embedders while it is searched: those that are coming have vectors of some texts, those that are leaving answer
-- nobody any more. One that is not here is active.
CREATE TABLE embedder_stages (
    name text PRIMARY KEY,
    stage text NOT NULL CHECK (stage IN ('coming', 'leaving'))
);
