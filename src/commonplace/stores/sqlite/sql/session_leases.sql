-- name: claim_session
-- Taken if nobody has it, or if the lease has run out; else it stays as it is. Either way the row that holds.
INSERT INTO session_leases AS held (tenant, session, claim, process, url, socket, expires_at)
VALUES (:tenant, :session, :claim, :process, :url, :socket, :until)
ON CONFLICT (tenant, session) DO UPDATE SET
    claim = iif(held.expires_at <= :now, excluded.claim, held.claim),
    process = iif(held.expires_at <= :now, excluded.process, held.process),
    url = iif(held.expires_at <= :now, excluded.url, held.url),
    socket = iif(held.expires_at <= :now, excluded.socket, held.socket),
    expires_at = iif(held.expires_at <= :now, excluded.expires_at, held.expires_at)
RETURNING tenant, session, claim, process, url, socket, expires_at;

-- name: renew_claims
UPDATE session_leases SET expires_at = :until WHERE claim IN (SELECT value FROM json_each(:claims)) RETURNING claim;

-- name: release_claims
DELETE FROM session_leases WHERE claim IN (SELECT value FROM json_each(:claims));

-- name: session_lease
SELECT tenant, session, claim, process, url, socket, expires_at FROM session_leases
WHERE tenant = :tenant AND session = :session AND expires_at > :now;

-- name: session_leases
SELECT tenant, session, claim, process, url, socket, expires_at FROM session_leases
WHERE expires_at > ? ORDER BY tenant, session;

-- name: end_holders
DELETE FROM session_leases WHERE process IN (SELECT value FROM json_each(?));

-- name: holds
SELECT 1 FROM session_leases WHERE tenant = ? AND session = ? AND claim = ?;
