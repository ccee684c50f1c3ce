-- name: quota
SELECT spent FROM quotas WHERE tenant = :tenant AND name = :name AND length = :length AND ends_at > :now;

-- name: begin_window
INSERT OR REPLACE INTO quotas (tenant, name, length, ends_at, spent)
VALUES (:tenant, :name, :length, :now + :length, :spent);

-- name: count_spent
UPDATE quotas SET spent = :spent WHERE tenant = :tenant AND name = :name AND length = :length;

-- name: trim_quotas
DELETE FROM quotas WHERE ends_at <= ?;
