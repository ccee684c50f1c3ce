-- name: tally
-- How many records fit, by one or two of their fields. The window counts all groups, also those beyond the limit.
SELECT found.one, found.two, count(*) AS records, sum(count(*)) OVER ()::bigint AS total
FROM (
    SELECT CASE %(first)s::text {fields} END AS one, CASE %(second)s::text {fields} END AS two
    FROM records r JOIN scopes s ON s.tenant = r.tenant AND s.number = r.scope WHERE {fits}
) AS found
GROUP BY found.one, found.two
ORDER BY CASE 'day' WHEN %(first)s::text THEN found.one WHEN %(second)s::text THEN found.two END, records DESC,
    found.one COLLATE "C", found.two COLLATE "C" LIMIT %(limit)s;

-- name: fields
-- Part of the one above.
WHEN 'source' THEN r.source
WHEN 'kind' THEN r.kind
WHEN 'scope' THEN s.kind || CASE s.id WHEN '' THEN '' ELSE ':' || s.id END
WHEN 'trust' THEN r.trust
WHEN 'state' THEN {state}
WHEN 'day' THEN to_char(to_timestamp(r.created_at / 1000.0) AT TIME ZONE 'UTC', 'YYYY-MM-DD')

-- name: names
-- The scopes of a tenant.
SELECT s.number, s.kind, s.id FROM scopes s JOIN tenants t ON t.number = s.tenant WHERE t.name = %(tenant)s;

-- name: scopes
-- Those that fit, last written first. Records are looked at only where an index tells what is asked, and counted only for
-- the scopes that are answered.
SELECT found.kind, found.id, found.updated_at, (
    SELECT count(*) FROM records r
    WHERE r.tenant = found.tenant AND r.scope = found.number AND r.live
      AND (r.expires_at IS NULL OR r.expires_at > %(now)s))
FROM (
    SELECT s.tenant, s.number, s.kind, s.id, (
        SELECT max(r.updated_at) FROM records r WHERE r.tenant = s.tenant AND r.scope = s.number) AS updated_at
    FROM scopes s JOIN tenants t ON t.number = s.tenant
    WHERE t.name = %(tenant)s AND (%(kinds)s::text[] IS NULL OR s.kind = ANY(%(kinds)s::text[]))
      AND (%(among)s::bigint[] IS NULL OR s.number = ANY(%(among)s::bigint[]))
    ORDER BY updated_at DESC NULLS LAST, s.number DESC LIMIT %(limit)s
) AS found
ORDER BY found.updated_at DESC NULLS LAST, found.number DESC;

-- name: outlines
-- What the names of a scope's records are made of. Metadata is read only if there may be a title in it.
SELECT r.id, r.kind, left(c.text, 200), r.created_at, r.updated_at, r.live, r.key,
    CASE WHEN r.metadata LIKE '%%"title"%%' THEN r.metadata END, r.file, r.session, r.position, r.speaker, r.pinned,
    r.importance, r.expires_at
FROM tenants t JOIN scopes s ON s.tenant = t.number JOIN records r ON r.tenant = s.tenant AND r.scope = s.number
    JOIN contents c ON c.tenant = r.tenant AND c.number = r.content
WHERE t.name = %(tenant)s AND s.kind = %(kind)s AND s.id = %(id)s ORDER BY r.id LIMIT %(limit)s;

-- name: size
-- How many records are in a scope, whatever their state.
SELECT count(*) FROM tenants t JOIN scopes s ON s.tenant = t.number
    JOIN records r ON r.tenant = s.tenant AND r.scope = s.number
WHERE t.name = %(tenant)s AND s.kind = %(kind)s AND s.id = %(id)s;

-- name: recalls
-- Which of the latest searches showed a record.
SELECT a.at, a.actor, a.action, a.door, a.run, a.client, j.rank::integer
FROM (
    SELECT number, at, actor, action, door, run, client, details FROM audit
    WHERE tenant = %(tenant)s AND action IN ('record.search', 'record.context', 'managed.recall')
    ORDER BY at DESC, number DESC LIMIT %(searches)s
) AS a
CROSS JOIN LATERAL jsonb_array_elements_text(coalesce(a.details::jsonb -> 'ids', '[]')) WITH ORDINALITY AS j (id, rank)
WHERE a.details LIKE '%%' || %(record)s || '%%' AND j.id = %(record)s
ORDER BY a.at DESC, a.number DESC LIMIT %(limit)s;

-- name: searches
-- How many there are, as far as it matters.
SELECT count(*) FROM (
    SELECT 1 FROM audit
    WHERE tenant = %(tenant)s AND action IN ('record.search', 'record.context', 'managed.recall') LIMIT %(searches)s
) AS latest;
