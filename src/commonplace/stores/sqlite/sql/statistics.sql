-- name: tally
-- How many records fit, by one or two of their fields. The window counts all groups, also those beyond the limit.
SELECT {first} AS one, {second} AS two, count(*) AS records, sum(count(*)) OVER () AS total
FROM records v JOIN scopes s ON s.number = v.scope WHERE {where}
GROUP BY one, two
ORDER BY CASE 'day' WHEN :first THEN one WHEN :second THEN two END, records DESC, one, two LIMIT :limit;

-- name: by_source
-- What {first} and {second} of the one above stand for. A CASE there would be gone through for every record.
v.source

-- name: by_kind
v.kind

-- name: by_scope
s.kind || CASE s.id WHEN '' THEN '' ELSE ':' || s.id END

-- name: by_trust
v.trust

-- name: by_state
{state}

-- name: by_day
date(v.created_at / 1000.0, 'unixepoch')

-- name: scopes
-- Those that fit, last written first. Records are looked at only where an index tells what is asked, and counted only for
-- the scopes that are answered.
SELECT kind, id, updated_at, (
    SELECT count(*) FROM main.records v INDEXED BY records_listed
    WHERE v.scope = found.number AND v.deleted_at IS NULL AND v.superseded_by IS NULL AND v.demoted = 0
        AND (v.expires_at IS NULL OR v.expires_at > :now)
)
FROM (
    SELECT s.number, s.kind, s.id, (SELECT max(v.updated_at) FROM records v WHERE v.scope = s.number) AS updated_at
    FROM scopes s
    WHERE s.tenant = :tenant AND (:kinds = '[]' OR s.kind IN (SELECT value FROM json_each(:kinds)))
        AND (:among IS NULL OR s.number IN (SELECT value FROM json_each(:among)))
    ORDER BY updated_at DESC, s.number DESC LIMIT :limit
) found;

-- name: outlines
-- What the names of a scope's records are made of. Metadata is read only if there may be a title in it.
SELECT v.id, v.kind, substr(c.text, 1, 200), v.created_at, v.updated_at, v.deleted_at IS NULL AND v.superseded_by IS NULL
    AND v.demoted = 0, v.key, CASE WHEN v.metadata LIKE '%"title"%' THEN v.metadata END, v.provenance, v.session, v.position,
    v.speaker, v.pinned, v.importance, v.expires_at
FROM records v JOIN scopes s ON s.number = v.scope JOIN contents c ON c.number = v.content
WHERE s.tenant = :tenant AND s.kind = :kind AND s.id = :id ORDER BY v.id LIMIT :limit;

-- name: size
-- How many records are in a scope, whatever their state.
SELECT count(*) FROM records v JOIN scopes s ON s.number = v.scope
WHERE s.tenant = :tenant AND s.kind = :kind AND s.id = :id;

-- name: recalls
-- Which of the latest searches showed a record.
WITH latest AS (
    SELECT number, at, actor, action, door, run, client, details FROM audit
    WHERE tenant = :tenant AND action IN ('record.search', 'record.context', 'managed.recall')
    ORDER BY at DESC, number DESC LIMIT :searches
)
SELECT a.at, a.actor, a.action, a.door, a.run, a.client, j.key + 1
FROM latest a, json_each(a.details, '$.ids') j WHERE j.value = :record
ORDER BY a.at DESC, a.number DESC LIMIT :limit;

-- name: names
SELECT number, kind, id FROM scopes WHERE tenant = ?;

-- name: searches
-- How many there are, as far as it matters.
SELECT count(*) FROM (
    SELECT 1 FROM audit
    WHERE tenant = :tenant AND action IN ('record.search', 'record.context', 'managed.recall') LIMIT :searches
);
