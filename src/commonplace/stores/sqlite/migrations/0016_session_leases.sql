-- Which process leads a session of an agent, and until when.
CREATE TABLE session_leases (
    tenant TEXT NOT NULL,
    session TEXT NOT NULL,
    claim TEXT NOT NULL,
    process TEXT NOT NULL,
    url TEXT,
    socket TEXT,
    expires_at INTEGER NOT NULL,
    PRIMARY KEY (tenant, session)
);
CREATE UNIQUE INDEX session_leases_claim ON session_leases (claim);
