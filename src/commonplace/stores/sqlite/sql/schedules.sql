-- name: add_schedule
INSERT INTO schedules (tenant, id, target, subject, enabled, next_due, created_at, updated_at, version, data)
VALUES (:tenant, :id, :target, :subject, :enabled, :next_due, :created_at, :updated_at, :version, :data);

-- name: enabled_schedules
-- How many of a target are enabled, but for this one.
SELECT count(*) FROM schedules WHERE tenant = :tenant AND target = :target AND enabled AND id <> :id;

-- name: schedule
-- By its id.
SELECT tenant, id, target, enabled, next_due, created_at, updated_at, version, data FROM schedules
WHERE tenant = :tenant AND id = :id;

-- name: schedules
-- A page.
SELECT tenant, id, target, enabled, next_due, created_at, updated_at, version, data FROM schedules
WHERE tenant = :tenant AND (:target IS NULL OR target = :target) AND (:subject IS NULL OR subject = :subject)
    AND (:cursor IS NULL OR id < :cursor)
ORDER BY id DESC LIMIT :limit;

-- name: change_schedule
-- Nothing if it is another version by now.
UPDATE schedules SET enabled = :enabled, next_due = :next_due, updated_at = :updated_at, version = version + 1, data = :data
WHERE tenant = :tenant AND id = :id AND version = :version;

-- name: remove_schedule
DELETE FROM schedules WHERE tenant = :tenant AND id = :id;

-- name: due_schedules
SELECT tenant, id, target, enabled, next_due, created_at, updated_at, version, data FROM schedules
WHERE enabled AND next_due <= :now ORDER BY next_due, id LIMIT :limit;

-- name: next_due
SELECT min(next_due) FROM schedules WHERE enabled AND next_due IS NOT NULL;

-- name: pause_schedules
-- The first stays.
INSERT INTO schedule_pauses (tenant, target, at, by_subject) VALUES (:tenant, :target, :at, :by)
ON CONFLICT DO NOTHING;

-- name: resume_schedules
DELETE FROM schedule_pauses WHERE tenant = :tenant AND target = :target;

-- name: schedule_pauses
SELECT tenant, target, at, by_subject FROM schedule_pauses WHERE tenant = :tenant ORDER BY at, target;
