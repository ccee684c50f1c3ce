-- name: channels
-- Of one tenant, or of all.
SELECT tenant, name, kind, settings, enabled, created_at FROM channels
WHERE :tenant IS NULL OR tenant = :tenant ORDER BY tenant, name;

-- name: add_channel
-- Nothing where there is one of that name.
INSERT INTO channels (tenant, name, kind, settings, enabled, created_at)
VALUES (:tenant, :name, :kind, :settings, :enabled, :created_at) ON CONFLICT DO NOTHING RETURNING name;

-- name: put_channel
INSERT INTO channels (tenant, name, kind, settings, enabled, created_at)
VALUES (:tenant, :name, :kind, :settings, :enabled, :created_at)
ON CONFLICT (tenant, name) DO UPDATE SET settings = excluded.settings, enabled = excluded.enabled RETURNING name;

-- name: remove_channel
DELETE FROM channels WHERE tenant = :tenant AND name = :channel RETURNING name;

-- name: remove_messages
-- Of a channel, or of one chat of it.
DELETE FROM room_messages WHERE tenant = :tenant AND channel = :channel AND (:chat IS NULL OR chat = :chat);

-- name: remove_routes
DELETE FROM room_routes WHERE tenant = :tenant AND channel = :channel AND (:chat IS NULL OR chat = :chat);

-- name: remove_rooms
DELETE FROM rooms WHERE tenant = :tenant AND channel = :channel;

-- name: remove_senders
DELETE FROM channel_senders WHERE tenant = :tenant AND channel = :channel;

-- name: rooms
SELECT channel, chat, title, is_group, paused, created_at FROM rooms
WHERE tenant = :tenant AND channel = :channel ORDER BY title, chat;

-- name: room
SELECT channel, chat, title, is_group, paused, created_at FROM rooms
WHERE tenant = :tenant AND channel = :channel AND chat = :chat;

-- name: put_room
INSERT INTO rooms (tenant, channel, chat, title, is_group, paused, created_at)
VALUES (:tenant, :channel, :chat, :title, :is_group, :paused, :created_at)
ON CONFLICT (tenant, channel, chat) DO UPDATE
SET title = excluded.title, is_group = excluded.is_group, paused = excluded.paused RETURNING chat;

-- name: remove_room
DELETE FROM rooms WHERE tenant = :tenant AND channel = :channel AND chat = :chat RETURNING chat;

-- name: keep_message
-- Nothing where one of that id is there.
INSERT INTO room_messages (tenant, channel, chat, id, at, author, sender, sender_name, text, data, handled)
VALUES (:tenant, :channel, :chat, :id, :at, :author, :sender, :sender_name, :text, :data, :handled)
ON CONFLICT (tenant, channel, chat, id) DO NOTHING RETURNING number;

-- name: change_message
UPDATE room_messages SET text = coalesce(:text, text), data = coalesce(:data, data)
WHERE tenant = :tenant AND channel = :channel AND chat = :chat AND id = :id;

-- name: mark_handled
UPDATE room_messages SET handled = 1
WHERE tenant = :tenant AND channel = :channel AND chat = :chat AND id IN (SELECT value FROM json_each(:ids));

-- name: messages
-- The last ones, the newest first.
SELECT number, id, at, author, sender, sender_name, text, data, handled FROM room_messages
WHERE tenant = :tenant AND channel = :channel AND chat = :chat AND (:before IS NULL OR number < :before)
ORDER BY number DESC LIMIT :limit;

-- name: message
SELECT number, id, at, author, sender, sender_name, text, data, handled FROM room_messages
WHERE tenant = :tenant AND channel = :channel AND chat = :chat AND id = :id;

-- name: unhandled
SELECT chat, number, id, at, author, sender, sender_name, text, data, handled FROM room_messages
WHERE tenant = :tenant AND channel = :channel AND handled = 0 ORDER BY number;

-- name: trim_messages
DELETE FROM room_messages WHERE handled = 1 AND at < :before;

-- name: routes
SELECT channel, key, session, chat, thread, is_group FROM room_routes
WHERE tenant = :tenant AND channel = :channel ORDER BY key;

-- name: route
SELECT channel, key, session, chat, thread, is_group FROM room_routes
WHERE tenant = :tenant AND channel = :channel AND key = :key;

-- name: put_route
INSERT INTO room_routes (tenant, channel, key, session, chat, thread, is_group)
VALUES (:tenant, :channel, :key, :session, :chat, :thread, :is_group)
ON CONFLICT (tenant, channel, key) DO UPDATE
SET session = excluded.session, chat = excluded.chat, thread = excluded.thread, is_group = excluded.is_group;

-- name: begin_route
INSERT INTO room_routes (tenant, channel, key, session, chat, thread, is_group)
VALUES (:tenant, :channel, :key, :session, :chat, :thread, :is_group)
ON CONFLICT (tenant, channel, key) DO UPDATE
SET session = excluded.session, chat = excluded.chat, thread = excluded.thread, is_group = excluded.is_group
WHERE room_routes.session = :instead;

-- name: remove_route
DELETE FROM room_routes WHERE tenant = :tenant AND channel = :channel AND key = :key;

-- name: senders
SELECT channel, sender, name, code, code_at, approved_at FROM channel_senders
WHERE tenant = :tenant AND channel = :channel ORDER BY sender;

-- name: sender
SELECT channel, sender, name, code, code_at, approved_at FROM channel_senders
WHERE tenant = :tenant AND channel = :channel AND sender = :sender;

-- name: put_sender
INSERT INTO channel_senders (tenant, channel, sender, name, code, code_at, approved_at)
VALUES (:tenant, :channel, :sender, :name, :code, :code_at, :approved_at)
ON CONFLICT (tenant, channel, sender) DO UPDATE
SET name = excluded.name, code = excluded.code, code_at = excluded.code_at, approved_at = excluded.approved_at
RETURNING sender;

-- name: remove_sender
DELETE FROM channel_senders WHERE tenant = :tenant AND channel = :channel AND sender = :sender RETURNING sender;

-- name: links
SELECT identity, subject, created_at FROM sender_links WHERE tenant = :tenant ORDER BY identity;

-- name: link
SELECT identity, subject, created_at FROM sender_links WHERE tenant = :tenant AND identity = :identity;

-- name: put_link
INSERT INTO sender_links (tenant, identity, subject, created_at) VALUES (:tenant, :identity, :subject, :created_at)
ON CONFLICT (tenant, identity) DO UPDATE SET subject = excluded.subject RETURNING identity;

-- name: remove_link
DELETE FROM sender_links WHERE tenant = :tenant AND identity = :identity RETURNING identity;

-- name: platform_values
-- Whose name begins with `prefix`.
SELECT name, value FROM platform_values
WHERE tenant = :tenant AND channel = :channel AND substr(name, 1, length(:prefix)) = :prefix ORDER BY name;

-- name: put_platform_value
INSERT INTO platform_values (tenant, channel, name, value) VALUES (:tenant, :channel, :name, :value)
ON CONFLICT (tenant, channel, name) DO UPDATE SET value = excluded.value;

-- name: remove_platform_value
DELETE FROM platform_values WHERE tenant = :tenant AND channel = :channel AND name = :name;

-- name: remove_platform_values
DELETE FROM platform_values WHERE tenant = :tenant AND channel = :channel;
