-- name: marks
-- How far these scopes have come; all of the tenant where none are named.
SELECT s.kind, s.id, s.number, s.seq, s.epoch, s.passages, s.terms
FROM scopes s JOIN tenants t ON t.number = s.tenant
WHERE t.name = %(tenant)s AND (%(kinds)s::text[] IS NULL
    OR (s.kind, s.id) IN (SELECT kind, id FROM unnest(%(kinds)s::text[], %(ids)s::text[]) AS asked (kind, id)))
ORDER BY s.number;

-- name: mark
-- How far one scope has come.
SELECT kind, id, number, seq, epoch, passages, terms FROM scopes WHERE tenant = %(tenant)s AND number = %(number)s;

-- name: marks_again
-- How far these scopes have come, by their numbers.
SELECT kind, id, number, seq, epoch, passages, terms FROM scopes
WHERE tenant = ANY(%(tenants)s) AND number = ANY(%(scopes)s) ORDER BY number;

-- name: gone
-- The records written in this scope since, and those that left it.
SELECT number FROM records WHERE tenant = %(tenant)s AND scope = %(scope)s AND seq > %(after)s
UNION
SELECT number FROM departures WHERE tenant = %(tenant)s AND scope = %(scope)s AND seq > %(after)s
ORDER BY number;

-- name: entry
-- Part of other queries: what an entry says of its record `r` and its passage `p`.
r.number, r.version, p.content, p.n, p.length, p.terms, p.start, p.stop, r.session, r.position,
coalesce(r.at, r.created_at), r.pinned, r.importance, r.expires_at

-- name: whole
-- All entries of a scope.
SELECT {entry} FROM records r
JOIN passages p ON p.tenant = r.tenant AND p.content = r.content
WHERE r.tenant = %(tenant)s AND r.scope = %(scope)s AND r.live
ORDER BY p.content, p.n;

-- name: whole_of
-- All entries of several scopes, each behind the number of its scope.
SELECT r.scope, {entry} FROM records r
JOIN passages p ON p.tenant = r.tenant AND p.content = r.content
WHERE r.tenant = ANY(%(tenants)s) AND r.scope = ANY(%(scopes)s) AND r.live
ORDER BY r.scope, p.content, p.n;

-- name: whole_vectors
-- All vectors of a scope by one embedder.
SELECT content, n, signed FROM vectors
WHERE tenant = %(tenant)s AND embedder = %(embedder)s AND scope = %(scope)s;

-- name: since
-- The entries of the records of a scope written since.
SELECT {entry} FROM records r
JOIN passages p ON p.tenant = r.tenant AND p.content = r.content
WHERE r.tenant = %(tenant)s AND r.scope = %(scope)s AND r.live AND r.seq > %(after)s
ORDER BY p.content, p.n;

-- name: as_of
-- Each record that was ever in the scope, in the version written last before the moment, if that was live and there.
WITH ever AS (
    SELECT number FROM records WHERE tenant = %(tenant)s AND scope = %(scope)s
    UNION SELECT number FROM versions WHERE tenant = %(tenant)s AND scope = %(scope)s
), told AS (
    SELECT v.tenant, v.number, v.version, v.scope, v.content, v.live, v.session, v.position, v.at, v.created_at,
           v.pinned, v.importance, v.expires_at, v.updated_at
    FROM versions v JOIN ever USING (number) WHERE v.tenant = %(tenant)s AND v.updated_at <= %(moment)s
    UNION ALL
    SELECT h.tenant, h.number, h.version, h.scope, h.content, h.live, h.session, h.position, h.at, h.created_at,
           h.pinned, h.importance, h.expires_at, h.updated_at
    FROM records h JOIN ever USING (number) WHERE h.tenant = %(tenant)s AND h.updated_at <= %(moment)s
), r AS (
    SELECT DISTINCT ON (number) * FROM told ORDER BY number, updated_at DESC, version DESC
)
SELECT {entry} FROM r JOIN passages p ON p.tenant = r.tenant AND p.content = r.content
WHERE r.scope = %(scope)s AND r.live
ORDER BY p.content, p.n;

-- name: vectors_of
-- The vectors of these contents by one embedder, live or not.
SELECT content, n, signed FROM vectors
WHERE tenant = ANY(%(tenants)s) AND embedder = %(embedder)s AND content = ANY(%(contents)s);

-- name: frequencies
-- How many live passages hold each of these words.
SELECT asked.place, (SELECT count(*) FROM passages p WHERE p.words @> ARRAY[asked.word] AND p.tenant = ANY(%(tenants)s))
FROM unnest(%(words)s::bigint[]) WITH ORDINALITY AS asked (word, place);

-- name: holding
-- The passages that hold one of these words, the newest first.
SELECT p.content, p.n FROM passages p WHERE p.words && %(words)s::bigint[] AND p.tenant = ANY(%(tenants)s)
ORDER BY p.content DESC, p.n DESC LIMIT %(limit)s;

-- name: holding_among
-- The same, of some records only.
SELECT p.content, p.n FROM passages p
WHERE p.words && %(words)s::bigint[] AND p.tenant = ANY(%(tenants)s) AND p.record = ANY(%(among)s::bigint[])
ORDER BY p.content DESC, p.n DESC LIMIT %(limit)s;

-- name: near
-- The passages nearest to a vector: every vector of the scopes is compared, none is left out.
SELECT v.content, v.n FROM vectors v
WHERE v.tenant = ANY(%(tenants)s) AND v.embedder = %(embedder)s AND v.scope = ANY(%(scopes)s)
ORDER BY v.signed <=> %(vector)s, v.content, v.n LIMIT %(limit)s;

-- name: near_among
-- The same, of some records only.
SELECT v.content, v.n FROM vectors v
WHERE v.tenant = ANY(%(tenants)s) AND v.embedder = %(embedder)s AND v.scope = ANY(%(scopes)s)
    AND v.content IN (
        SELECT r.content FROM records r WHERE r.tenant = ANY(%(tenants)s) AND r.number = ANY(%(among)s::bigint[])
    )
ORDER BY v.signed <=> %(vector)s, v.content, v.n LIMIT %(limit)s;

-- name: entries
-- These passages where they are live, and all passages of the live turns beside theirs.
WITH asked AS (
    SELECT p.tenant, p.record, p.content, p.n
    FROM unnest(%(contents)s::bigint[], %(ns)s::integer[]) AS one (content, n)
    JOIN passages p ON p.tenant = (one.content >> 32)::integer AND p.content = one.content AND p.n = one.n
    WHERE p.scope IS NOT NULL
), turns AS (
    SELECT DISTINCT r.tenant, r.scope, r.session, r.position + step AS position
    FROM (SELECT DISTINCT tenant, record FROM asked) a
    JOIN records r ON r.tenant = a.tenant AND r.number = a.record
    CROSS JOIN (VALUES (-1), (1)) AS steps (step)
    WHERE r.session IS NOT NULL AND r.position IS NOT NULL
), found AS (
    SELECT tenant, content, n FROM asked
    UNION
    SELECT p.tenant, p.content, p.n FROM turns t
    JOIN records r ON r.tenant = t.tenant AND r.scope = t.scope AND r.session = t.session AND r.position = t.position
    JOIN passages p ON p.tenant = r.tenant AND p.content = r.content
    WHERE r.live
)
SELECT {entry} FROM found f
JOIN passages p ON p.tenant = f.tenant AND p.content = f.content AND p.n = f.n
JOIN records r ON r.tenant = p.tenant AND r.number = p.record
ORDER BY p.content, p.n;

-- name: entries_of
-- All passages of these records.
SELECT {entry} FROM records r
JOIN passages p ON p.tenant = r.tenant AND p.content = r.content
WHERE r.tenant = ANY(%(tenants)s) AND r.number = ANY(%(numbers)s) AND r.live
ORDER BY p.content, p.n;

-- name: fetch
-- Records by number and version.
SELECT h.* FROM unnest(%(numbers)s::bigint[], %(versions)s::integer[]) AS asked (number, version)
JOIN held h ON h.tenant = (asked.number >> 32)::integer AND h.number = asked.number AND h.version = asked.version
UNION ALL
SELECT p.* FROM unnest(%(numbers)s::bigint[], %(versions)s::integer[]) AS asked (number, version)
JOIN past p ON p.tenant = (asked.number >> 32)::integer AND p.number = asked.number AND p.version = asked.version;
