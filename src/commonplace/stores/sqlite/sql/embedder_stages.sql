-- name: stages
SELECT e.name, e.dimension, ifnull(s.stage, 'active'), e.number
FROM embedders e LEFT JOIN embedder_stages s ON s.name = e.name ORDER BY e.number;

-- name: promote
-- Those that are not named are leaving.
INSERT INTO embedder_stages (name, stage)
SELECT name, 'leaving' FROM embedders WHERE name NOT IN (SELECT value FROM json_each(?));

-- name: unembedded
-- A vector stands under the scope of its record, or under the negated one.
SELECT c.number, c.text, v.speaker FROM contents c JOIN records v ON v.number = c.record
WHERE c.number > :after AND EXISTS (
    SELECT 1 FROM passages p CROSS JOIN embedders e
    WHERE p.number BETWEEN c.number * 4096 AND c.number * 4096 + 4095 
        AND e.name NOT IN (SELECT name FROM embedder_stages WHERE stage = 'leaving') AND NOT EXISTS (
        SELECT 1 FROM vectors x WHERE x.embedder = e.number AND x.scope IN (v.scope, -v.scope) AND x.passage = p.number
    )
)
ORDER BY c.number LIMIT :limit;

-- name: spans
SELECT start, stop FROM passages WHERE number BETWEEN :content * 4096 AND :content * 4096 + 4095 ORDER BY number;

-- name: home_of_content
-- The scope, whether the content is what a search may find, and how many passages it has.
SELECT v.scope, v.content = c.number AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0,
    (SELECT count(*) FROM passages p WHERE p.number BETWEEN c.number * 4096 AND c.number * 4096 + 4095)
FROM contents c JOIN records v ON v.number = c.record WHERE c.number = ?;
