-- name: keep_reply
-- One statement decides: a reply that has not expired stays, and nothing was written.
INSERT INTO replies AS held (tenant, owner, key, fingerprint, expires_at, written)
VALUES (%(tenant)s, %(owner)s, %(key)s, %(fingerprint)s, %(expires_at)s, %(written)s)
ON CONFLICT (tenant, owner, key) DO UPDATE
SET fingerprint = excluded.fingerprint, expires_at = excluded.expires_at, written = excluded.written
WHERE held.expires_at <= %(now)s;

-- name: job_columns
-- Of a job that is queued.
tenant, id, kind, payload, created_at, created_by, updated_at, mark, client, not_before, max_attempts, line

-- name: job_values
-- As above.
%(tenant)s, %(id)s, %(kind)s, %(payload)s, %(created_at)s, %(created_by)s, %(created_at)s, %(mark)s, %(client)s,
%(not_before)s::bigint, %(max_attempts)s, %(line)s

-- name: queue_job
-- An id that is there is an error.
INSERT INTO jobs ({job_columns}) VALUES ({job_values});

-- name: queue_unique_job
-- Unless one of the same mark has not ended, or one of the same id is there.
INSERT INTO jobs ({job_columns}) VALUES ({job_values}) ON CONFLICT DO NOTHING;

-- name: lock_line
-- Whoever else queues a job there waits, so that no two take the last place.
SELECT pg_advisory_xact_lock(hashtextextended('commonplace line ' || current_schema() || ' ' || %(tenant)s || ' ' || %(line)s, 0));

-- name: place
-- A row if there is room in the line. The length of a payload is known without reading it.
SELECT 1 WHERE NOT EXISTS (
    SELECT 1 FROM jsonb_to_recordset(%(room)s::jsonb) AS r (most bigint, kinds text[], bytes bigint)
    CROSS JOIN LATERAL (
        SELECT count(*) AS jobs, coalesce(sum(octet_length(j.payload)), 0) AS size FROM jobs j
        WHERE j.tenant = %(tenant)s AND j.line = %(line)s AND j.line IS NOT NULL AND j.state IN ('queued', 'running')
          AND (cardinality(r.kinds) = 0 OR j.kind = ANY(r.kinds))) AS open
    WHERE open.jobs >= r.most OR (open.size > 0 AND open.size + %(size)s > r.bytes))

-- name: queue_in_line
-- As queue_job. A row comes back if there is room.
WITH place AS ({place}), queued AS (INSERT INTO jobs ({job_columns}) SELECT {job_values} FROM place)
SELECT 1 FROM place;

-- name: queue_unique_in_line
-- As queue_unique_job. A row comes back if there is room, also for one that is there already.
WITH place AS ({place}), queued AS (
    INSERT INTO jobs ({job_columns}) SELECT {job_values} FROM place ON CONFLICT DO NOTHING)
SELECT 1 FROM place;

-- name: trim_line
-- The oldest that ended give way to those there are.
DELETE FROM jobs WHERE id IN (
    SELECT id FROM jobs WHERE tenant = %(tenant)s AND line = %(line)s AND line IS NOT NULL AND state IN ('done', 'failed')
    ORDER BY updated_at, number
    LIMIT greatest(0, (SELECT count(*) FROM jobs WHERE tenant = %(tenant)s AND line = %(line)s AND line IS NOT NULL) - %(kept)s));

-- name: newest
-- All that a query asks for but the record, newest first.
    (%(tenant)s::text IS NULL OR tenant = %(tenant)s)
    AND (%(last_at)s::bigint IS NULL OR (at, number) < (%(last_at)s, %(last_number)s::bigint))
    AND (%(actions)s::text[] IS NULL OR action = ANY(%(actions)s))
    AND (%(outcomes)s::text[] IS NULL OR outcome = ANY(%(outcomes)s))
    AND (%(actor)s::text IS NULL OR actor = %(actor)s)
    AND (%(run)s::text IS NULL OR run = %(run)s)
    AND (%(doors)s::text[] IS NULL OR door = ANY(%(doors)s))
    AND (%(since)s::bigint IS NULL OR at >= %(since)s)
    AND (%(until)s::bigint IS NULL OR at < %(until)s)
    ORDER BY at DESC, number DESC LIMIT %(limit)s

-- name: audit
-- Rows that fit, newest first. A group is many: those that fill a page, of the first of which all but one may be told already.
SELECT at, number, records, id, tenant, actor, action, outcome, record, version, scope, run, door, key, client, address,
       request, details
FROM (
    SELECT *, sum(many) OVER earlier - many - first_value(many) OVER earlier AS before
    FROM (
        SELECT *, coalesce(octet_length(records) / 16, 1) AS many FROM (SELECT * FROM audit WHERE {newest}) AS fitting
    ) AS sized
    WINDOW earlier AS (ORDER BY at DESC, number DESC)
) AS counted
WHERE before < %(limit)s
ORDER BY at DESC, number DESC;

-- name: audit_of_record
-- Rows that name a record, and groups that hold it.
SELECT at, number, records, id, tenant, actor, action, outcome, record, version, scope, run, door, key, client, address,
       request, details
FROM (
    (SELECT * FROM audit WHERE record = %(record)s AND {newest})
    UNION ALL
    (SELECT * FROM audit WHERE records IS NOT NULL AND substring(records FROM octet_length(records) - 15) >= %(packed)s
        AND substring(records FROM 1 FOR 16) <= %(packed)s AND position(%(packed)s::bytea IN records) > 0 AND {newest})
) AS fitting
ORDER BY at DESC, number DESC LIMIT %(limit)s;

-- name: reply
-- What a request was answered with.
SELECT fingerprint, expires_at, written FROM replies
WHERE tenant = %(tenant)s AND owner = %(owner)s AND key = %(key)s AND expires_at > %(now)s;

-- name: trim_replies
-- What has expired.
DELETE FROM replies WHERE expires_at <= %(now)s;

-- name: claim
-- The first who writes to a session is its owner, and news tell of it; that of an agent's session is whoever began that.
WITH claimed AS (
    INSERT INTO members (tenant, scope, subject, owner, since)
    SELECT %(tenant)s, %(scope)s, coalesce((SELECT s.owner FROM sessions s
        WHERE s.tenant = %(tenant)s AND %(scope)s::text LIKE 'session:%%' AND s.id = substr(%(scope)s::text, 9)
    ), %(subject)s), true, %(since)s
    WHERE NOT EXISTS (SELECT 1 FROM members m WHERE m.tenant = %(tenant)s AND m.scope = %(scope)s)
    ON CONFLICT DO NOTHING RETURNING scope, subject
)
INSERT INTO outbox (tenant, type, at, scope, actor, client, admins, data)
SELECT %(tenant)s, %(type)s, %(at)s, claimed.scope, %(actor)s, %(client)s, %(admins)s, %(data)s FROM claimed
WHERE claimed.subject = %(subject)s;

-- name: is_member
-- No row where the subject is none.
SELECT 1 FROM members WHERE tenant = %(tenant)s AND scope = %(scope)s AND subject = %(subject)s;
