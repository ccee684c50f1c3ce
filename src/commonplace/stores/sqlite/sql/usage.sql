-- name: add_usage
INSERT INTO usage (
    tenant, at, session, purpose, model, agent, workspace, input_tokens, output_tokens, cost, ok
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: usage
SELECT at, session, purpose, model, agent, workspace, input_tokens, output_tokens, cost, ok FROM usage
WHERE tenant = ? ORDER BY at DESC, number DESC LIMIT ?;

-- name: usage_totals
SELECT purpose, model, count(*), count(*) FILTER (WHERE NOT ok), sum(input_tokens), sum(output_tokens), sum(cost)
FROM usage WHERE tenant = ? AND at >= ? AND at < ?
GROUP BY purpose, model ORDER BY sum(cost) DESC, purpose, model;

-- name: budget
SELECT daily FROM budgets WHERE tenant = ?;

-- name: set_budget
INSERT OR REPLACE INTO budgets (tenant, daily) VALUES (?, ?);

-- name: forget_budget
DELETE FROM budgets WHERE tenant = ?;
