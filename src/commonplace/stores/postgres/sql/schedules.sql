-- name: lock_target
-- Of those who add to a target at once, one counts after the other.
SELECT pg_advisory_xact_lock(hashtextextended('commonplace schedules ' || current_schema() || ' ' || %(tenant)s || ' ' || %(target)s, 0));

-- name: add_schedule
INSERT INTO schedules (tenant, id, target, subject, enabled, next_due, created_at, updated_at, version, data)
VALUES (%(tenant)s, %(id)s, %(target)s, %(subject)s, %(enabled)s, %(next_due)s, %(created_at)s, %(updated_at)s, %(version)s, %(data)s);

-- name: enabled_schedules
-- How many of a target are enabled, but for this one.
SELECT count(*) FROM schedules WHERE tenant = %(tenant)s AND target = %(target)s AND enabled AND id <> %(id)s;

-- name: schedule
-- By its id.
SELECT tenant, id, target, enabled, next_due, created_at, updated_at, version, data FROM schedules
WHERE tenant = %(tenant)s AND id = %(id)s;

-- name: schedules
-- A page.
SELECT tenant, id, target, enabled, next_due, created_at, updated_at, version, data FROM schedules
WHERE tenant = %(tenant)s AND (%(target)s::text IS NULL OR target = %(target)s) AND (%(subject)s::text IS NULL OR subject = %(subject)s)
    AND (%(cursor)s::text IS NULL OR id < %(cursor)s)
ORDER BY id DESC LIMIT %(limit)s;

-- name: change_schedule
-- Nothing if it is another version by now.
UPDATE schedules SET enabled = %(enabled)s, next_due = %(next_due)s, updated_at = %(updated_at)s, version = version + 1, data = %(data)s
WHERE tenant = %(tenant)s AND id = %(id)s AND version = %(version)s
RETURNING version;

-- name: remove_schedule
DELETE FROM schedules WHERE tenant = %(tenant)s AND id = %(id)s RETURNING id;

-- name: due_schedules
SELECT tenant, id, target, enabled, next_due, created_at, updated_at, version, data FROM schedules
WHERE enabled AND next_due <= %(now)s ORDER BY next_due, id LIMIT %(limit)s;

-- name: next_due
SELECT min(next_due) FROM schedules WHERE enabled AND next_due IS NOT NULL;

-- name: pause_schedules
-- The first stays.
INSERT INTO schedule_pauses (tenant, target, at, by_subject) VALUES (%(tenant)s, %(target)s, %(at)s, %(by)s)
ON CONFLICT DO NOTHING RETURNING target;

-- name: resume_schedules
DELETE FROM schedule_pauses WHERE tenant = %(tenant)s AND target = %(target)s RETURNING target;

-- name: schedule_pauses
SELECT tenant, target, at, by_subject FROM schedule_pauses WHERE tenant = %(tenant)s ORDER BY at, target;
