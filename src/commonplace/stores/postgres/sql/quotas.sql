-- name: spend
-- One statement decides. A window that is over begins anew with these amounts; one that is running takes them all or none.
-- What is given back brings a counter to zero at most, and so nothing to a window that has just begun.
INSERT INTO quotas AS held (tenant, name, duration, began, spent)
VALUES (%(tenant)s, %(name)s, %(duration)s, %(now)s, %(beginning)s::jsonb)
ON CONFLICT (tenant, name, duration) DO UPDATE
SET began = CASE WHEN held.began + held.duration <= excluded.began THEN excluded.began ELSE held.began END,
    spent = CASE WHEN held.began + held.duration <= excluded.began THEN excluded.spent ELSE held.spent || (
        SELECT coalesce(jsonb_object_agg(a.key, greatest(a.value::bigint + coalesce((held.spent ->> a.key)::bigint, 0), 0)),
                        '{}')
        FROM jsonb_each_text(%(amounts)s::jsonb) a) END
WHERE held.began + held.duration <= excluded.began OR NOT EXISTS (
    SELECT 1 FROM jsonb_each_text(%(amounts)s::jsonb) a JOIN jsonb_each_text(%(limits)s::jsonb) l ON l.key = a.key
    WHERE a.value::bigint + coalesce((held.spent ->> a.key)::bigint, 0) > l.value::bigint)
RETURNING true;

-- name: spent
-- The counters of the window that is running.
SELECT spent FROM quotas
WHERE tenant = %(tenant)s AND name = %(name)s AND duration = %(duration)s AND began + duration > %(now)s;

-- name: trim_quotas
-- Windows that are over.
DELETE FROM quotas WHERE began + duration <= %(now)s;
