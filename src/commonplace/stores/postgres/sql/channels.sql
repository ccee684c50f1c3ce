-- name: channels
-- Of one tenant, or of all.
SELECT tenant, name, kind, settings, enabled, created_at FROM channels
WHERE %(tenant)s::text IS NULL OR tenant = %(tenant)s ORDER BY tenant, name;

-- name: add_channel
-- Nothing where there is one of that name.
INSERT INTO channels (tenant, name, kind, settings, enabled, created_at)
VALUES (%(tenant)s, %(name)s, %(kind)s, %(settings)s, %(enabled)s, %(created_at)s) ON CONFLICT DO NOTHING RETURNING name;

-- name: put_channel
INSERT INTO channels (tenant, name, kind, settings, enabled, created_at)
VALUES (%(tenant)s, %(name)s, %(kind)s, %(settings)s, %(enabled)s, %(created_at)s)
ON CONFLICT (tenant, name) DO UPDATE SET settings = excluded.settings, enabled = excluded.enabled RETURNING name;

-- name: remove_channel
DELETE FROM channels WHERE tenant = %(tenant)s AND name = %(channel)s RETURNING name;

-- name: remove_messages
-- Of a channel, or of one chat of it.
DELETE FROM room_messages WHERE tenant = %(tenant)s AND channel = %(channel)s AND (%(chat)s::text IS NULL OR chat = %(chat)s);

-- name: remove_routes
DELETE FROM room_routes WHERE tenant = %(tenant)s AND channel = %(channel)s AND (%(chat)s::text IS NULL OR chat = %(chat)s);

-- name: remove_rooms
DELETE FROM rooms WHERE tenant = %(tenant)s AND channel = %(channel)s;

-- name: remove_senders
DELETE FROM channel_senders WHERE tenant = %(tenant)s AND channel = %(channel)s;

-- name: rooms
SELECT channel, chat, title, is_group, paused, created_at FROM rooms
WHERE tenant = %(tenant)s AND channel = %(channel)s ORDER BY title, chat;

-- name: room
SELECT channel, chat, title, is_group, paused, created_at FROM rooms
WHERE tenant = %(tenant)s AND channel = %(channel)s AND chat = %(chat)s;

-- name: put_room
INSERT INTO rooms (tenant, channel, chat, title, is_group, paused, created_at)
VALUES (%(tenant)s, %(channel)s, %(chat)s, %(title)s, %(is_group)s, %(paused)s, %(created_at)s)
ON CONFLICT (tenant, channel, chat) DO UPDATE
SET title = excluded.title, is_group = excluded.is_group, paused = excluded.paused RETURNING chat;

-- name: remove_room
DELETE FROM rooms WHERE tenant = %(tenant)s AND channel = %(channel)s AND chat = %(chat)s RETURNING chat;

-- name: keep_message
-- Nothing where one of that id is there.
INSERT INTO room_messages (tenant, channel, chat, id, at, author, sender, sender_name, text, data, handled)
VALUES (%(tenant)s, %(channel)s, %(chat)s, %(id)s, %(at)s, %(author)s, %(sender)s, %(sender_name)s, %(text)s, %(data)s, %(handled)s)
ON CONFLICT (tenant, channel, chat, id) DO NOTHING RETURNING number;

-- name: change_message
UPDATE room_messages SET text = coalesce(%(text)s, text), data = coalesce(%(data)s, data)
WHERE tenant = %(tenant)s AND channel = %(channel)s AND chat = %(chat)s AND id = %(id)s;

-- name: mark_handled
UPDATE room_messages SET handled = true
WHERE tenant = %(tenant)s AND channel = %(channel)s AND chat = %(chat)s AND id = ANY (%(ids)s);

-- name: messages
-- The last ones, the newest first.
SELECT number, id, at, author, sender, sender_name, text, data, handled FROM room_messages
WHERE tenant = %(tenant)s AND channel = %(channel)s AND chat = %(chat)s AND (%(before)s::bigint IS NULL OR number < %(before)s)
ORDER BY number DESC LIMIT %(limit)s;

-- name: message
SELECT number, id, at, author, sender, sender_name, text, data, handled FROM room_messages
WHERE tenant = %(tenant)s AND channel = %(channel)s AND chat = %(chat)s AND id = %(id)s;

-- name: unhandled
SELECT chat, number, id, at, author, sender, sender_name, text, data, handled FROM room_messages
WHERE tenant = %(tenant)s AND channel = %(channel)s AND NOT handled ORDER BY number;

-- name: trim_messages
DELETE FROM room_messages WHERE handled AND at < %(before)s;

-- name: routes
SELECT channel, key, session, chat, thread, is_group FROM room_routes
WHERE tenant = %(tenant)s AND channel = %(channel)s ORDER BY key;

-- name: route
SELECT channel, key, session, chat, thread, is_group FROM room_routes
WHERE tenant = %(tenant)s AND channel = %(channel)s AND key = %(key)s;

-- name: put_route
INSERT INTO room_routes (tenant, channel, key, session, chat, thread, is_group)
VALUES (%(tenant)s, %(channel)s, %(key)s, %(session)s, %(chat)s, %(thread)s, %(is_group)s)
ON CONFLICT (tenant, channel, key) DO UPDATE
SET session = excluded.session, chat = excluded.chat, thread = excluded.thread, is_group = excluded.is_group;

-- name: begin_route
INSERT INTO room_routes (tenant, channel, key, session, chat, thread, is_group)
VALUES (%(tenant)s, %(channel)s, %(key)s, %(session)s, %(chat)s, %(thread)s, %(is_group)s)
ON CONFLICT (tenant, channel, key) DO UPDATE
SET session = excluded.session, chat = excluded.chat, thread = excluded.thread, is_group = excluded.is_group
WHERE room_routes.session = %(instead)s;

-- name: remove_route
DELETE FROM room_routes WHERE tenant = %(tenant)s AND channel = %(channel)s AND key = %(key)s;

-- name: senders
SELECT channel, sender, name, code, code_at, approved_at FROM channel_senders
WHERE tenant = %(tenant)s AND channel = %(channel)s ORDER BY sender;

-- name: sender
SELECT channel, sender, name, code, code_at, approved_at FROM channel_senders
WHERE tenant = %(tenant)s AND channel = %(channel)s AND sender = %(sender)s;

-- name: put_sender
INSERT INTO channel_senders (tenant, channel, sender, name, code, code_at, approved_at)
VALUES (%(tenant)s, %(channel)s, %(sender)s, %(name)s, %(code)s, %(code_at)s, %(approved_at)s)
ON CONFLICT (tenant, channel, sender) DO UPDATE
SET name = excluded.name, code = excluded.code, code_at = excluded.code_at, approved_at = excluded.approved_at
RETURNING sender;

-- name: remove_sender
DELETE FROM channel_senders WHERE tenant = %(tenant)s AND channel = %(channel)s AND sender = %(sender)s RETURNING sender;

-- name: links
SELECT identity, subject, created_at FROM sender_links WHERE tenant = %(tenant)s ORDER BY identity;

-- name: link
SELECT identity, subject, created_at FROM sender_links WHERE tenant = %(tenant)s AND identity = %(identity)s;

-- name: put_link
INSERT INTO sender_links (tenant, identity, subject, created_at) VALUES (%(tenant)s, %(identity)s, %(subject)s, %(created_at)s)
ON CONFLICT (tenant, identity) DO UPDATE SET subject = excluded.subject RETURNING identity;

-- name: remove_link
DELETE FROM sender_links WHERE tenant = %(tenant)s AND identity = %(identity)s RETURNING identity;

-- name: platform_values
-- Whose name begins with `prefix`.
SELECT name, value FROM platform_values
WHERE tenant = %(tenant)s AND channel = %(channel)s AND substr(name, 1, length(%(prefix)s::text)) = %(prefix)s ORDER BY name;

-- name: put_platform_value
INSERT INTO platform_values (tenant, channel, name, value) VALUES (%(tenant)s, %(channel)s, %(name)s, %(value)s)
ON CONFLICT (tenant, channel, name) DO UPDATE SET value = excluded.value;

-- name: remove_platform_value
DELETE FROM platform_values WHERE tenant = %(tenant)s AND channel = %(channel)s AND name = %(name)s;

-- name: remove_platform_values
DELETE FROM platform_values WHERE tenant = %(tenant)s AND channel = %(channel)s;
