-- name: by_key
-- What these scopes hold under these keys.
SELECT h.* FROM unnest(%(scopes)s::bigint[], %(keys)s::text[]) AS asked (scope, key)
JOIN records r ON r.tenant = (asked.scope >> 32)::integer AND r.scope = asked.scope AND r.key = asked.key
JOIN held h ON h.tenant = r.tenant AND h.number = r.number;

-- name: by_once
-- What these scopes hold under these marks.
SELECT h.* FROM unnest(%(scopes)s::bigint[], %(marks)s::bytea[]) AS asked (scope, once)
JOIN records r ON r.tenant = (asked.scope >> 32)::integer AND r.scope = asked.scope AND r.once = asked.once
JOIN held h ON h.tenant = r.tenant AND h.number = r.number;

-- name: last_places
-- The greatest position of these sessions, deleted records counted.
SELECT asked.scope, asked.session, (
    SELECT max(r.position) FROM records r
    WHERE r.tenant = (asked.scope >> 32)::integer AND r.scope = asked.scope AND r.session = asked.session)
FROM unnest(%(scopes)s::bigint[], %(sessions)s::text[]) AS asked (scope, session);

-- name: by_id
-- The versions held now, by the records' ids.
SELECT h.* FROM unnest(%(tenants)s::text[], %(ids)s::uuid[]) AS asked (tenant, id)
JOIN tenants t ON t.name = asked.tenant
JOIN held h ON h.tenant = t.number AND h.id = asked.id;

-- name: places
-- In which scopes these records are now; read before locking, so it may be out of date.
SELECT t.name, s.kind, s.id FROM unnest(%(tenants)s::text[], %(ids)s::uuid[]) AS asked (tenant, id)
JOIN tenants t ON t.name = asked.tenant
JOIN records r ON r.tenant = t.number AND r.id = asked.id
JOIN scopes s ON s.tenant = r.tenant AND s.number = r.scope;

-- name: history
-- Every version of a record.
SELECT h.* FROM held h WHERE h.tenant = (SELECT number FROM tenants WHERE name = %(tenant)s) AND h.id = %(id)s
UNION ALL
SELECT p.* FROM past p
JOIN records r ON r.tenant = p.tenant AND r.number = p.number
WHERE r.tenant = (SELECT number FROM tenants WHERE name = %(tenant)s) AND r.id = %(id)s
ORDER BY version;

-- name: pasts
-- The versions before of these records.
SELECT p.* FROM past p WHERE p.tenant = %(tenant)s AND p.number = ANY(%(numbers)s) ORDER BY p.number, p.version;

-- name: tenant
-- A tenant's number.
SELECT number FROM tenants WHERE name = %(tenant)s;

-- name: scope_numbers
-- The numbers of those of these scopes that were ever written to.
SELECT s.number FROM unnest(%(kinds)s::text[], %(ids)s::text[]) AS asked (kind, id)
JOIN scopes s ON s.tenant = %(tenant)s AND s.kind = asked.kind AND s.id = asked.id;

-- name: fits
-- Part of other queries: the conditions of a Filter on records `r`. A null parameter asks for nothing. A scope alone, and live
-- records alone, are asked for in words of their own: so the planner knows how many there are, and an index tells the order.
r.tenant = %(tenant)s
AND (%(scopes)s::bigint[] IS NULL OR r.scope = ANY(%(scopes)s::bigint[]))
AND (%(scope)s::bigint IS NULL OR r.scope = %(scope)s::bigint)
AND (NOT %(live)s::boolean OR r.live AND (r.expires_at IS NULL OR r.expires_at > %(now)s))
AND (%(ids)s::uuid[] IS NULL OR r.id = ANY(%(ids)s::uuid[]))
AND (%(kinds)s::text[] IS NULL OR r.kind = ANY(%(kinds)s::text[]))
AND (%(sources)s::text[] IS NULL OR r.source = ANY(%(sources)s::text[]))
AND (%(tags)s::text[] IS NULL OR r.tags @> %(tags)s::text[])
AND (%(trust)s::text[] IS NULL OR r.trust = ANY(%(trust)s::text[]))
AND (%(visibility)s::text IS NULL OR r.visibility = %(visibility)s::text)
AND (%(sessions)s::text[] IS NULL OR r.session = ANY(%(sessions)s::text[]))
AND (%(speaker)s::text IS NULL OR r.speaker = %(speaker)s::text)
AND (%(key)s::text IS NULL OR r.key = %(key)s::text)
AND (%(key_prefix)s::text IS NULL OR starts_with(r.key, %(key_prefix)s::text))
AND (%(superseded_by)s::text IS NULL OR r.superseded_by = %(superseded_by)s::text)
AND (%(pinned)s::boolean IS NULL OR r.pinned = %(pinned)s::boolean)
AND (%(ever_in)s::bigint IS NULL OR r.scope = %(ever_in)s::bigint OR EXISTS (
    SELECT 1 FROM versions o WHERE o.tenant = r.tenant AND o.number = r.number AND o.scope = %(ever_in)s::bigint))
AND (%(told_by)s::text IS NULL OR %(told_by)s::text IN (r.speaker, r.actor) OR EXISTS (
    SELECT 1 FROM versions o WHERE o.tenant = r.tenant AND o.number = r.number
    AND %(told_by)s::text IN (o.speaker, o.actor)))
AND (%(since)s::bigint IS NULL OR coalesce(r.at, r.created_at) >= %(since)s::bigint)
AND (%(until)s::bigint IS NULL OR coalesce(r.at, r.created_at) < %(until)s::bigint)
AND (%(states)s::text[] IS NULL OR {state} = ANY(%(states)s::text[]))

-- name: state
-- Part of other queries: the state of a record `r`.
CASE
    WHEN r.deleted_at IS NOT NULL THEN 'deleted'
    WHEN r.superseded_by IS NOT NULL THEN 'superseded'
    WHEN r.demoted THEN 'demoted'
    WHEN r.expires_at <= %(now)s THEN 'expired'
    ELSE 'live' END

-- name: unmoved
-- Part of the listings: not written since the first page was read.
(%(snapshot)s::pg_snapshot IS NULL OR pg_visible_in_snapshot(r.writer, %(snapshot)s::pg_snapshot))

-- name: matching
-- The numbers of the records that fit.
SELECT r.number FROM records r WHERE {fits} ORDER BY r.number;

-- name: matching_places
-- The records that fit, with their scopes.
SELECT r.number, r.id, s.kind, s.id FROM records r JOIN scopes s ON s.tenant = r.tenant AND s.number = r.scope WHERE {fits};

-- name: snapshot
-- The moment a listing begins.
SELECT pg_current_snapshot()::text;

-- name: find_newest
-- A page, the last write first.
SELECT r.number FROM records r WHERE {fits} AND {unmoved}
AND (%(last_id)s::uuid IS NULL OR (r.updated_at, r.id) < (%(last_updated)s::bigint, %(last_id)s::uuid))
ORDER BY r.updated_at DESC, r.id DESC LIMIT %(limit)s;

-- name: find_oldest
-- A page, the last write last.
SELECT r.number FROM records r WHERE {fits} AND {unmoved}
AND (%(last_id)s::uuid IS NULL OR (r.updated_at, r.id) > (%(last_updated)s::bigint, %(last_id)s::uuid))
ORDER BY r.updated_at, r.id LIMIT %(limit)s;

-- name: find_pinned
-- A page, pinned first, then important, then newest.
SELECT r.number FROM records r WHERE {fits} AND {unmoved}
AND (%(last_id)s::uuid IS NULL OR (r.pinned, r.importance, r.updated_at, r.id)
    < (%(last_pinned)s::boolean, %(last_importance)s::integer, %(last_updated)s::bigint, %(last_id)s::uuid))
ORDER BY r.pinned DESC, r.importance DESC, r.updated_at DESC, r.id DESC LIMIT %(limit)s;

-- name: find_key
-- A page, pinned first, then important, then by key; records without one come last.
SELECT r.number FROM records r WHERE {fits} AND {unmoved}
AND (%(last_id)s::uuid IS NULL OR (NOT r.pinned, -r.importance, r.key IS NULL, coalesce(r.key, ''), r.id)
    > (NOT %(last_pinned)s::boolean, -%(last_importance)s::integer, %(last_key)s::text IS NULL,
       coalesce(%(last_key)s::text, ''), %(last_id)s::uuid))
ORDER BY NOT r.pinned, -r.importance, r.key IS NULL, coalesce(r.key, ''), r.id LIMIT %(limit)s;

-- name: find_position
-- A page by session and place in it; what is in no session comes last.
SELECT r.number FROM records r WHERE {fits} AND {unmoved}
AND (%(last_id)s::uuid IS NULL
    OR (r.session IS NULL, coalesce(r.session, ''), r.position IS NULL, coalesce(r.position, 0), r.id)
    > (%(last_session)s::text IS NULL, coalesce(%(last_session)s::text, ''), %(last_position)s::bigint IS NULL,
       coalesce(%(last_position)s::bigint, 0), %(last_id)s::uuid))
ORDER BY r.session IS NULL, coalesce(r.session, ''), r.position IS NULL, coalesce(r.position, 0), r.id LIMIT %(limit)s;

-- name: find_id
-- The records that fit in the order of their ids, for export.
SELECT r.number FROM records r WHERE {fits} AND (%(last_id)s::uuid IS NULL OR r.id > %(last_id)s::uuid)
ORDER BY r.id LIMIT %(limit)s;

-- name: by_number
-- The versions held now, by the records' numbers.
SELECT h.* FROM held h WHERE h.tenant = %(tenant)s AND h.number = ANY(%(numbers)s);
