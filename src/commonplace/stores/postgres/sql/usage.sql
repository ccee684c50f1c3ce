-- name: add_usage
INSERT INTO usage (tenant, at, session, purpose, model, agent, workspace, input_tokens, output_tokens, cost, ok)
VALUES (%(tenant)s, %(at)s, %(session)s, %(purpose)s, %(model)s, %(agent)s, %(workspace)s, %(input_tokens)s,
        %(output_tokens)s, %(cost)s, %(ok)s);

-- name: usage
-- The latest lines.
SELECT at, session, purpose, model, agent, workspace, input_tokens, output_tokens, cost, ok FROM usage
WHERE tenant = %(tenant)s ORDER BY at DESC, number DESC LIMIT %(limit)s;

-- name: usage_totals
-- A sum of bigint is numeric, which is more than these will ever be.
SELECT purpose, model, count(*), count(*) FILTER (WHERE NOT ok), sum(input_tokens)::bigint, sum(output_tokens)::bigint,
       sum(cost)::bigint
FROM usage WHERE tenant = %(tenant)s AND at >= %(since)s AND at < %(until)s
GROUP BY purpose, model ORDER BY sum(cost) DESC, purpose, model;

-- name: budget
SELECT daily FROM budgets WHERE tenant = %(tenant)s;

-- name: set_budget
INSERT INTO budgets (tenant, daily) VALUES (%(tenant)s, %(daily)s)
ON CONFLICT (tenant) DO UPDATE SET daily = excluded.daily;

-- name: forget_budget
DELETE FROM budgets WHERE tenant = %(tenant)s;
