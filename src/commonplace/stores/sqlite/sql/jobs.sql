-- name: has_job
-- One that waits for others of its line is none yet.
SELECT EXISTS (
    SELECT 1 FROM jobs j WHERE state IN ('queued', 'running') AND kind IN (SELECT value FROM json_each(:kinds))
        AND (:tenant IS NULL OR tenant = :tenant) AND (:line IS NULL OR line = :line)
        AND CASE state WHEN 'queued' THEN ifnull(not_before, 0) ELSE leased_until END <= :now
        AND (line IS NULL OR state = 'running' OR NOT EXISTS (
            SELECT 1 FROM jobs o WHERE o.tenant = j.tenant AND o.line = j.line AND o.line IS NOT NULL AND o.state = 'running'
        ))
);

-- name: give_up_jobs
-- The worker of the last attempt never told its end.
UPDATE jobs SET state = 'failed', error_code = 'attempts_exhausted', error = :error, worker = NULL, leased_until = NULL,
    updated_at = :now
WHERE state = 'running' AND leased_until <= :now AND attempts >= max_attempts
    AND kind IN (SELECT value FROM json_each(:kinds));

-- name: claim_job
UPDATE jobs SET state = 'running', worker = :worker, leased_until = :now + :lease, attempts = attempts + 1,
    updated_at = :now
WHERE number = (
    SELECT number FROM jobs j WHERE state IN ('queued', 'running') AND kind IN (SELECT value FROM json_each(:kinds))
        AND (:tenant IS NULL OR tenant = :tenant) AND (:line IS NULL OR line = :line)
        AND CASE state WHEN 'queued' THEN ifnull(not_before, 0) ELSE leased_until END <= :now
        AND (line IS NULL OR state = 'running' OR NOT EXISTS (
            SELECT 1 FROM jobs o WHERE o.tenant = j.tenant AND o.line = j.line AND o.line IS NOT NULL AND o.state = 'running'
        ))
    ORDER BY created_at, number LIMIT 1
) RETURNING *;

-- name: renew_job
UPDATE jobs SET leased_until = :now + :lease, done = :done, total = :total, updated_at = :now
WHERE id = :id AND state = 'running' AND worker = :worker;

-- name: job_workers
SELECT DISTINCT worker FROM jobs WHERE state = 'running' AND leased_until > ?;

-- name: end_leases
UPDATE jobs SET leased_until = :now
WHERE state = 'running' AND leased_until > :now AND worker IN (SELECT value FROM json_each(:workers));

-- name: finish_job
UPDATE jobs SET state = 'done', result = :result, error_code = NULL, error = NULL, worker = NULL, leased_until = NULL,
    payload = json_remove(payload, '$.private'), updated_at = :now
WHERE id = :id AND state = 'running' AND worker = :worker;

-- name: fail_job
-- retry_in is NULL where there is to be no other attempt. An attempt that does not count is taken back.
UPDATE jobs SET state = iif(:retry_in IS NOT NULL AND attempts - :uncounted < max_attempts, 'queued', 'failed'),
    attempts = attempts - :uncounted,
    not_before = ifnull(:now + :retry_in, not_before), error_code = :code, error = :message, worker = NULL,
    leased_until = NULL, updated_at = :now
WHERE id = :id AND state = 'running' AND worker = :worker;

-- name: job
SELECT * FROM jobs WHERE tenant = ? AND id = ?;

-- name: open_job
SELECT id FROM jobs WHERE tenant = ? AND kind = ? AND mark = ? AND state IN ('queued', 'running');

-- name: retry_job
UPDATE jobs SET state = 'queued', attempts = 0, not_before = NULL, updated_at = ? WHERE id = ? RETURNING *;

-- name: drop_job
DELETE FROM jobs WHERE id = ?;

-- name: trim_jobs
DELETE FROM jobs WHERE state IN ('done', 'failed') AND (
    updated_at < :before OR (state = 'failed' AND updated_at < :failed) OR number IN (
        SELECT number FROM jobs WHERE state IN ('done', 'failed')
        ORDER BY updated_at DESC, number DESC LIMIT -1 OFFSET :keep
    )
);

-- name: listed
-- As they stand, without what is private in their payloads, which may be large.
SELECT number, id, tenant, kind, json_remove(payload, '$.private'), created_at, created_by, updated_at, state, mark, client,
    not_before, max_attempts, attempts, worker, leased_until, done, total, result, error_code, error, line
FROM jobs;
