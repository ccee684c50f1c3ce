-- name: columns
-- A job as the port speaks of it.
j.id, j.tenant, j.kind, j.payload, j.created_at, j.created_by, j.updated_at, j.state, j.mark, j.client, j.not_before,
j.max_attempts, j.attempts, j.worker, j.leased_until, j.done, j.total, j.result, j.error_code, j.error, j.line

-- name: is_free
-- Queued and due, with nobody of its line before it, or left by a worker whose lease ran out.
j.kind = ANY(%(kinds)s::text[]) AND j.state IN ('queued', 'running')
AND (j.state = 'queued' AND (j.not_before IS NULL OR j.not_before <= %(now)s)
     AND (j.line IS NULL OR NOT EXISTS (
         SELECT 1 FROM jobs o WHERE o.tenant = j.tenant AND o.line = j.line AND o.line IS NOT NULL AND o.state = 'running'))
     OR j.state = 'running' AND j.leased_until <= %(now)s)

-- name: give_up
-- Those whose attempts are used up have failed. Rows that others are claiming are passed by.
UPDATE jobs SET state = 'failed', error_code = 'attempts_exhausted', error = %(message)s, worker = NULL,
                leased_until = NULL, updated_at = %(now)s
WHERE id IN (SELECT j.id FROM jobs j WHERE {is_free} AND j.attempts >= j.max_attempts FOR UPDATE SKIP LOCKED);

-- name: claim
-- The oldest that is free, in a statement of its own: it has to see who gave up.
WITH next AS (
    SELECT j.id FROM jobs j WHERE {is_free} AND j.attempts < j.max_attempts
        AND (%(tenant)s::text IS NULL OR j.tenant = %(tenant)s::text) AND (%(line)s::text IS NULL OR j.line = %(line)s::text)
    ORDER BY j.created_at, j.number LIMIT 1 FOR UPDATE SKIP LOCKED
)
UPDATE jobs j SET state = 'running', worker = %(worker)s, leased_until = %(until)s, attempts = j.attempts + 1,
                  updated_at = %(now)s
FROM next WHERE j.id = next.id
RETURNING {columns};

-- name: renew
-- Only for the worker that claimed it last.
UPDATE jobs SET leased_until = %(until)s, done = %(done)s, total = %(total)s, updated_at = %(now)s
WHERE id = %(id)s AND worker = %(worker)s AND state = 'running' RETURNING id;

-- name: workers
-- Those who hold a job.
SELECT DISTINCT worker FROM jobs WHERE state = 'running' AND leased_until > %(now)s;

-- name: end_leases
-- Only for the worker that claimed it last, as renew.
UPDATE jobs SET leased_until = %(now)s
WHERE state = 'running' AND leased_until > %(now)s AND worker = ANY(%(workers)s::text[]);

-- name: finish
-- As renew. What is private in its payload has served its purpose.
UPDATE jobs SET state = 'done', result = %(result)s, error_code = NULL, error = NULL, worker = NULL, leased_until = NULL,
                payload = CASE WHEN strpos(payload, '"private"') > 0 THEN (payload::jsonb - 'private')::text ELSE payload END,
                updated_at = %(now)s
WHERE id = %(id)s AND worker = %(worker)s AND state = 'running' RETURNING id;

-- name: fail
-- As renew. It is queued again if it may be. An attempt that does not count is taken back.
UPDATE jobs SET state = CASE WHEN %(again_at)s::bigint IS NULL OR attempts - %(uncounted)s >= max_attempts THEN 'failed'
                        ELSE 'queued' END,
                attempts = attempts - %(uncounted)s,
                not_before = coalesce(%(again_at)s::bigint, not_before),
                error_code = %(code)s, error = %(message)s, worker = NULL, leased_until = NULL, updated_at = %(now)s
WHERE id = %(id)s AND worker = %(worker)s AND state = 'running' RETURNING id;

-- name: job
-- One of a tenant.
SELECT {columns} FROM jobs j WHERE j.tenant = %(tenant)s AND j.id = %(id)s;

-- name: open_job
-- The one with this mark that waits or runs.
SELECT id FROM jobs
WHERE tenant = %(tenant)s AND kind = %(kind)s AND mark = %(mark)s AND state IN ('queued', 'running');

-- name: jobs
-- Newest first, without what is private in their payloads, which may be large.
SELECT j.id, j.tenant, j.kind,
       CASE WHEN strpos(j.payload, '"private"') > 0 THEN (j.payload::jsonb - 'private')::text ELSE j.payload END,
       j.created_at, j.created_by, j.updated_at, j.state, j.mark, j.client, j.not_before, j.max_attempts, j.attempts, j.worker,
       j.leased_until, j.done, j.total, j.result, j.error_code, j.error, j.line
FROM jobs j
WHERE j.tenant = %(tenant)s AND (%(kinds)s::text[] IS NULL OR j.kind = ANY(%(kinds)s))
  AND (%(states)s::text[] IS NULL OR j.state = ANY(%(states)s))
ORDER BY j.created_at DESC, j.number DESC LIMIT %(limit)s;

-- name: lock
-- Nobody claims it while it is being decided about.
SELECT state FROM jobs WHERE tenant = %(tenant)s AND id = %(id)s FOR UPDATE;

-- name: retry
-- Due at once, its attempts counted anew.
UPDATE jobs j SET state = 'queued', attempts = 0, not_before = NULL, updated_at = %(now)s
WHERE j.tenant = %(tenant)s AND j.id = %(id)s RETURNING {columns};

-- name: drop
-- Without a trace.
DELETE FROM jobs WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: trim
-- Ended long ago, which is sooner for what failed, or before the latest that are to be kept.
DELETE FROM jobs WHERE state IN ('done', 'failed') AND (
    updated_at < %(before)s
    OR (state = 'failed' AND updated_at < %(failed)s)
    OR id IN (SELECT id FROM jobs WHERE state IN ('done', 'failed') ORDER BY updated_at DESC, number DESC OFFSET %(keep)s));
