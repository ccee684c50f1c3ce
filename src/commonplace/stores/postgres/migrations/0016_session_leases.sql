-- Which process leads a session of an agent, and until when.
CREATE TABLE session_leases (
    tenant text COLLATE "C" NOT NULL,
    session text COLLATE "C" NOT NULL,
    claim text COLLATE "C" NOT NULL,
    process text NOT NULL,
    url text,
    socket text,
    expires_at bigint NOT NULL,
    PRIMARY KEY (tenant, session)
);
CREATE UNIQUE INDEX session_leases_claim ON session_leases (claim);
