-- name: stages
-- The embedders of the store, and how far they are.
SELECT e.name, e.dimension, coalesce(s.stage, 'active'), e.number
FROM embedders e LEFT JOIN embedder_stages s ON s.name = e.name ORDER BY e.number;

-- name: announce
-- Its vectors are accepted from now on, unless they were before.
WITH new AS (
    INSERT INTO embedders (name, dimension) VALUES (%(name)s, %(dimension)s) ON CONFLICT DO NOTHING RETURNING name
)
INSERT INTO embedder_stages (name, stage) SELECT name, 'coming' FROM new;

-- name: drop_vectors_of
-- Vectors of embedders that are dropped.
DELETE FROM vectors WHERE embedder = ANY(%(numbers)s::integer[]);

-- name: drop_embedders
-- As drop_vectors_of.
WITH gone AS (DELETE FROM embedders WHERE number = ANY(%(numbers)s::integer[]) RETURNING name)
DELETE FROM embedder_stages WHERE name IN (SELECT name FROM gone);

-- name: unembedded
-- Texts of every tenant that lack a vector, in the order of their numbers, which begin with the tenant's.
SELECT c.number, c.text, c.speaker, c.tenant FROM contents c
WHERE (c.tenant, c.number) > ((%(after)s::bigint >> 32)::integer, %(after)s::bigint) AND EXISTS (
    SELECT 1 FROM passages p CROSS JOIN embedders e
    WHERE p.tenant = c.tenant AND p.content = c.number 
      AND e.name NOT IN (SELECT name FROM embedder_stages WHERE stage = 'leaving') AND NOT EXISTS (
        SELECT 1 FROM vectors v
        WHERE v.tenant = p.tenant AND v.content = p.content AND v.n = p.n AND v.embedder = e.number))
ORDER BY c.tenant, c.number LIMIT %(limit)s;

-- name: count_unembedded
-- How many those are.
SELECT count(*) FROM contents c
WHERE EXISTS (
    SELECT 1 FROM passages p CROSS JOIN embedders e
    WHERE p.tenant = c.tenant AND p.content = c.number 
      AND e.name NOT IN (SELECT name FROM embedder_stages WHERE stage = 'leaving') AND NOT EXISTS (
        SELECT 1 FROM vectors v
        WHERE v.tenant = p.tenant AND v.content = p.content AND v.n = p.n AND v.embedder = e.number));

-- name: spans
-- Where the passages of these contents begin and end.
SELECT content, start, stop FROM passages WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s) ORDER BY content, n;

-- name: replaced_vectors
-- Make room for new ones.
DELETE FROM vectors WHERE tenant = ANY(%(tenants)s) AND content = ANY(%(contents)s) AND embedder = ANY(%(numbers)s::integer[]);

-- name: promote
-- All others are leaving.
INSERT INTO embedder_stages (name, stage) SELECT name, 'leaving' FROM embedders WHERE NOT name = ANY(%(names)s::text[]);

-- name: forget_stages
-- All are active.
DELETE FROM embedder_stages;
