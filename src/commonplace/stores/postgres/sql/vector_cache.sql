-- name: cached
-- Those of these hashes that are known.
SELECT hash, vector FROM cached WHERE embedder = %(embedder)s AND hash = ANY(%(hashes)s::bytea[]);

-- name: cache
-- The same text always gives the same vector, so the first one stays. In one order, so that no two writers wait for each other.
INSERT INTO cached (embedder, hash, vector)
SELECT %(embedder)s, hash, vector FROM unnest(%(hashes)s::bytea[], %(vectors)s::bytea[]) AS given (hash, vector)
ORDER BY hash ON CONFLICT DO NOTHING;

-- name: uncache
-- Forget these under every embedder.
DELETE FROM cached WHERE hash = ANY(%(hashes)s::bytea[]);
