-- name: private_notes
-- Records that were never shared, in scopes of several persons, with the actor of their first version. What they say of themselves is read
-- elsewhere: a row of a damaged store must not be in the way.
SELECT r.number, s.tenant, r.metadata,
    (SELECT v.actor FROM (SELECT version, actor FROM versions WHERE number = r.number UNION ALL SELECT r.version, r.actor) v
        ORDER BY v.version LIMIT 1),
    r.created_at
FROM records r JOIN scopes s ON s.number = r.scope
WHERE s.kind IN ('session', 'workspace', 'global') AND r.visibility <> 'shared' AND r.metadata LIKE '%"governed":%'
    AND NOT EXISTS (SELECT 1 FROM versions v WHERE v.number = r.number AND v.visibility = 'shared')
ORDER BY r.number;

-- name: keys
SELECT tenant, id, name, role, subject, created_at FROM keys;

-- name: users
SELECT tenant, id FROM users;

-- name: move_events
-- Who may not read a note hears nothing of it, either.
UPDATE events SET scope = (
    SELECT s.kind || ':' || s.id FROM records r JOIN scopes s ON s.number = r.scope
    WHERE r.id = unhex(replace(json_extract(events.data, '$.id'), '-', ''))
)
WHERE scope IS NOT NULL AND records IS NULL AND json_valid(data)
    AND EXISTS (SELECT 1 FROM records r WHERE r.id = unhex(replace(json_extract(events.data, '$.id'), '-', ''))
        AND r.number IN (SELECT value FROM json_each(:numbers)));
