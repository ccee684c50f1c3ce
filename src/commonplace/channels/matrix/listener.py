"""
Listens to a Matrix server: long requests, each of which continues where the last ended.

The place is kept when everything before it is taken over, so that what was said while we were away comes when we are back, and nothing twice
that the inbox has. Before the first place nothing is answered.
"""

from __future__ import annotations

import json
from collections import OrderedDict
from hashlib import sha256
from typing import Final

from commonplace.channels.matrix.account import MatrixAccount
from commonplace.channels.matrix.client import (
    AnswerTooLong,
    RequestDenied,
    room_path,
    transaction,
)
from commonplace.channels.matrix.events import (
    MESSAGE,
    REACTION,
    STATE_TYPES,
    TIMELINE_TYPES,
    TOMBSTONE,
    JoinedRoom,
    MatrixEvent,
    SyncAnswer,
    events_of,
    read_identity,
    read_page,
    read_sync,
)
from commonplace.channels.matrix.invitations import Invitations
from commonplace.channels.matrix.marks import command_of
from commonplace.channels.matrix.reader import MatrixReader
from commonplace.channels.matrix.rooms import MatrixRoom
from commonplace.channels.matrix.signs import SeenMarks
from commonplace.channels.matrix.values import ENCRYPTED as TOLD
from commonplace.channels.matrix.values import SINCE
from commonplace.channels.matrix.writer import MatrixWriter
from commonplace.ports.channel import ButtonPress, Inbox, Outgoing
from commonplace.values.channel import MAX_CHAT

_WAIT: Final = 30.0
_SLACK: Final = 15.0
_TIMELINE: Final = 50
_PAGE: Final = 100
_MOST_PAGES: Final = 20
_MOST_VOTES: Final = 1_000
_PLACE_UNKNOWN: Final = frozenset({"M_UNKNOWN", "M_INVALID_PARAM", "M_UNKNOWN_POS"})
_NOT_ENCRYPTED: Final = (
    "This room is encrypted, which I do not support: I read and answer nothing here. Invite me to a room without encryption. "
    "此房间已加密，我不支持：我不会读取或回答任何内容。请邀请我加入未加密的房间。"
)


class MatrixListener:
    def __init__(
        self,
        account: MatrixAccount,
        reader: MatrixReader,
        writer: MatrixWriter,
        marks: SeenMarks,
        invitations: Invitations,
        *,
        wait: float = _WAIT,
    ) -> None:
        """`wait`: seconds that the server may keep a request which has nothing to tell."""
        self._client = account.client
        self._rooms = account.rooms
        self._values = account.values
        self._connection = account.connection
        self._hearing = reader
        self._writer = writer
        self._marks = marks
        self._invitations = invitations
        self._wait = wait
        self._timeline = _TIMELINE
        self._titles: dict[str, tuple[str, bool]] = {}
        self._refused: set[str] = set()
        self._voted: OrderedDict[str, None] = OrderedDict()

    async def listen(self, inbox: Inbox) -> None:
        """Until the server fails; then from the last place, when it is called again."""
        identity = read_identity(await self._client.get("/account/whoami"))
        self._rooms.me = identity.user_id
        place = SINCE + sha256(f"{self._client.address} {identity.user_id}".encode()).hexdigest()[:16]
        since = await self._values.get(place)
        self._marks.clear()
        self._invitations.begin()
        # The first answer comes at once: until then nobody knows whether we are connected.
        wait = 0.0
        while True:
            try:
                answer = await self._sync(since, wait)
            except RequestDenied as error:
                if since is None or error.errcode not in _PLACE_UNKNOWN:
                    raise
                # Another server is behind this address now, or it has lost what it had.
                self._connection.note("place_unknown", error.message)
                since = None
                continue
            await self._take(inbox, answer, since)
            self._rooms.is_loaded = True
            if answer.next_batch != since:
                since = answer.next_batch
                await self._values.put(place, since)
            # From here on nothing is missed.
            self._connection.connected()
            wait = self._wait

    async def _sync(self, since: str | None, wait: float) -> SyncAnswer:
        is_first = since is None or not self._rooms.is_loaded
        params = {"timeout": str(int(wait * 1000)), "filter": self._filter()}
        if since is not None:
            params["since"] = since
        if is_first:
            # Who is in which room is told once; then only what changes.
            params["full_state"] = "true"
        try:
            answer = await self._client.get("/sync", params, seconds=wait + (60.0 if is_first else _SLACK))
        except AnswerTooLong:
            # What does not fit is asked for in pages.
            self._timeline = 1
            raise
        self._timeline = _TIMELINE
        return read_sync(answer)

    def _filter(self) -> str:
        nothing: dict[str, list[str]] = {"types": []}
        return json.dumps(
            {
                "presence": nothing,
                "account_data": {"types": ["m.direct"]},
                "room": {
                    "ephemeral": nothing,
                    "account_data": nothing,
                    "state": {"types": STATE_TYPES},
                    "timeline": {"types": TIMELINE_TYPES, "limit": self._timeline},
                },
            },
            separators=(",", ":"),
        )

    # ---- one answer

    async def _take(self, inbox: Inbox, answer: SyncAnswer, since: str | None) -> None:
        self._rooms.take_account_data(events_of(answer.account_data.events))
        for chat in answer.rooms.leave:
            if self._rooms.get(chat) is not None:
                self._connection.note("left", chat)
            self._rooms.leave(chat)
            self._titles.pop(chat, None)
            await self._invitations.forget(chat)
        for chat, joined in answer.rooms.join.items():
            await self._take_room(inbox, chat, joined, since)
        for chat, invited in answer.rooms.invite.items():
            await self._invitations.take(chat, invited)

    async def _take_room(self, inbox: Inbox, chat: str, joined: JoinedRoom, since: str | None) -> None:
        room = self._rooms.enter(chat)
        for event in events_of(joined.state.events):
            room.apply(event)
        events = list(events_of(joined.timeline.events))
        if since is None:
            for event in events:
                room.apply(event)
            await self._open(inbox, room)
            return
        if joined.timeline.limited and joined.timeline.prev_batch and not _begins(events, self._rooms.me):
            events = [*await self._missed(chat, joined.timeline.prev_batch, since), *events]
        first = _first_for_us(events, self._rooms.me)
        for event in events[:first]:
            room.apply(event)
        await self._open(inbox, room)
        for event in events[first:]:
            room.apply(event)
            await self._hear(inbox, room, event)
        await self._open(inbox, room)

    async def _open(self, inbox: Inbox, room: MatrixRoom) -> None:
        """Say that there is such a room, once, and again if it has another title."""
        if room.is_encrypted:
            await self._refuse(room)
            return
        shown_as = room.title(self._rooms.me), room.is_group
        if self._titles.get(room.chat) != shown_as:
            self._titles[room.chat] = shown_as
            await inbox.open_room(room.chat, title=shown_as[0], is_group=shown_as[1])

    async def _refuse(self, room: MatrixRoom) -> None:
        """An encrypted room is told once."""
        name = TOLD + transaction(room.chat)
        if room.chat in self._refused or await self._values.get(name) is not None:
            return
        self._connection.note("encrypted", room.chat)
        try:
            await self._writer.tell(Outgoing(chat=room.chat, text=_NOT_ENCRYPTED, key="encrypted", notice=True))
        except RequestDenied as error:
            self._connection.note("left_out", error.message)
        self._refused.add(room.chat)
        await self._values.put(name, room.chat)

    async def _hear(self, inbox: Inbox, room: MatrixRoom, event: MatrixEvent) -> None:
        if room.is_encrypted:
            return
        if event.type == TOMBSTONE and event.is_state:
            await self._follow(room, event)
        elif event.type == REACTION and event.sender != self._rooms.me:
            await self._vote(inbox, room, event)
        elif event.type == MESSAGE:
            envelope = await self._hearing.envelope(room, event)
            if envelope is not None:
                self._writer.heard(envelope.id, envelope.sender)
                await inbox.receive(envelope)

    async def _vote(self, inbox: Inbox, room: MatrixRoom, event: MatrixEvent) -> None:
        relation = event.relation
        key, action = self._writer.sent.key(room.chat, relation.event_id), command_of(relation.key)
        # What came with it may have to come again. A mark on what is decided is no vote, and the whole room would read the answer to it.
        if key is None or action is None or event.event_id in self._voted or not self._writer.is_asking(room.chat, key):
            return
        reply = await inbox.press(ButtonPress(chat=room.chat, key=key, sender=event.sender, action=action))
        self._voted[event.event_id] = None
        while len(self._voted) > _MOST_VOTES:
            self._voted.popitem(last=False)
        if reply is not None:
            text = f"{room.sender_name(event.sender)}: {reply}"
            notice = Outgoing(
                chat=room.chat, text=text, key=f"{event.event_id}-said", reply_to=relation.event_id, notice=True
            )
            self._writer.do_later(self._writer.tell(notice))

    # ---- what was missed

    async def _missed(self, chat: str, before: str, since: str) -> list[MatrixEvent]:
        """What lies between the last place and what the server told, in order."""
        events: list[MatrixEvent] = []
        start: str | None = before
        for _ in range(_MOST_PAGES):
            params = {
                "dir": "b",
                "from": start,
                "to": since,
                "limit": str(_PAGE),
                "filter": json.dumps({"types": TIMELINE_TYPES}),
            }
            try:
                page = read_page(await self._client.get(room_path(chat, "messages"), params))
            except RequestDenied as error:
                self._connection.note("gap", f"{chat}: {error.message}")
                break
            batch = list(events_of(page.chunk))
            events += batch
            if page.end is None or page.end == start or _begins(batch, self._rooms.me):
                break
            start = page.end
        else:
            self._connection.note("gap", f"{chat}: more than {_PAGE * _MOST_PAGES:,} messages were missed.")
        events.reverse()
        return events

    # ---- to another room

    async def _follow(self, room: MatrixRoom, event: MatrixEvent) -> None:
        """The room was replaced by another: we go there, if we may without an invitation."""
        chat = event.text("replacement_room")
        if chat.startswith("!") and len(chat) <= MAX_CHAT and chat.isprintable():
            self._connection.note("upgraded", f"{room.chat}: {chat}")
            await self._invitations.follow(chat, event.sender.partition(":")[2])


def _begins(events: list[MatrixEvent], me: str) -> bool:
    """Whether we came into the room in these."""
    return any(event.begins_membership_of(me) for event in events)


def _first_for_us(events: list[MatrixEvent], me: str) -> int:
    """Where that begins which was said to us: behind our last invitation, or our coming, if these are among them."""
    joined = [place for place, event in enumerate(events) if event.begins_membership_of(me)]
    if not joined:
        return 0
    before = [place for place, event in enumerate(events[: joined[-1]]) if event.membership_of(me)]
    is_invited = bool(before) and events[before[-1]].membership_of(me) == "invite"
    return before[-1] if is_invited else joined[-1]
