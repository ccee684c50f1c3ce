"""
Rooms of DingTalk: our own client, on httpx and websockets.

`stream` brings what people write, over a connection that we open; `delivery` answers by the webhook of a message as long as that holds, and else
writes by itself (`proactive`); `chats` is what of that a restart has to know. All calls go through `api`, which owns the one access token.
"""
