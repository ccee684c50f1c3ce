-- name: lease_columns
-- What a lease is read from.
held.tenant, held.session, held.claim, held.process, held.url, held.socket, held.expires_at

-- name: claim_session
-- Taken if nobody has it, or if the lease has run out; else it stays as it is. Either way the row that holds.
INSERT INTO session_leases AS held (tenant, session, claim, process, url, socket, expires_at)
VALUES (%(tenant)s, %(session)s, %(claim)s, %(process)s, %(url)s, %(socket)s, %(until)s)
ON CONFLICT (tenant, session) DO UPDATE SET
    (claim, process, url, socket, expires_at) = (
        SELECT CASE WHEN free THEN excluded.claim ELSE held.claim END,
               CASE WHEN free THEN excluded.process ELSE held.process END,
               CASE WHEN free THEN excluded.url ELSE held.url END,
               CASE WHEN free THEN excluded.socket ELSE held.socket END,
               CASE WHEN free THEN excluded.expires_at ELSE held.expires_at END
        FROM (SELECT held.expires_at <= %(now)s AS free) asked)
RETURNING {lease_columns};

-- name: renew_claims
-- In one order, so that two who renew do not wait for each other.
UPDATE session_leases held SET expires_at = %(until)s
FROM (SELECT claim FROM session_leases WHERE claim = ANY(%(claims)s::text[]) ORDER BY claim FOR UPDATE) mine
WHERE held.claim = mine.claim RETURNING held.claim;

-- name: release_claims
-- As above.
DELETE FROM session_leases held
USING (SELECT claim FROM session_leases WHERE claim = ANY(%(claims)s::text[]) ORDER BY claim FOR UPDATE) mine
WHERE held.claim = mine.claim;

-- name: session_lease
-- If it has not run out.
SELECT {lease_columns} FROM session_leases held
WHERE held.tenant = %(tenant)s AND held.session = %(session)s AND held.expires_at > %(now)s;

-- name: session_leases
-- All that have not run out.
SELECT {lease_columns} FROM session_leases held WHERE held.expires_at > %(now)s ORDER BY held.tenant, held.session;

-- name: end_holders
-- Those of processes that are dead.
DELETE FROM session_leases held
USING (SELECT claim FROM session_leases WHERE process = ANY(%(processes)s::text[]) ORDER BY claim FOR UPDATE) gone
WHERE held.claim = gone.claim;

-- name: holds
-- Nobody takes it over until the transaction ends.
SELECT 1 FROM session_leases
WHERE tenant = %(tenant)s AND session = %(session)s AND claim = %(claim)s FOR SHARE;
