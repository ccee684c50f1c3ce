"""
One channel at work: messages in, turns out, in order.

A message is kept before anything is done about it, and is handled until nothing is left to do: until its turn has ended and the room was
told. Messages of one chat are handled one after the other, in the order they came; the turns themselves wait in the session's own queue, and
nowhere else.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import AsyncGenerator, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from hashlib import sha256
from typing import Any, Final

from commonplace.agent.rooms import RoomPlace
from commonplace.channels import pairing_codes
from commonplace.channels.attachments import lost_files
from commonplace.channels.budget import room_pot
from commonplace.channels.command_line import parse_command
from commonplace.channels.commands import RoomCommands
from commonplace.channels.flood import SenderLimits
from commonplace.channels.follower import FollowerParts, RoomDelivery, RoomFollower, deliver, notice
from commonplace.channels.gates import (
    GROUP,
    Refusal,
    dispatch_of,
    group_refusal,
    is_shared,
    sender_refusal,
)
from commonplace.channels.inbox import (
    CUT,
    MAX_ID,
    MAX_TEXT,
    PROGRESS,
    RUN,
    SESSION,
    TELLING,
    accepted,
    attachment_data,
    draft_of,
    is_blank,
)
from commonplace.channels.parts import RoomParts, Target
from commonplace.channels.phrases import CHINESE, ENGLISH, RoomPhrases, is_chinese, words
from commonplace.channels.prefix import INTERRUPTED, collected, display_name, file_name, prompt_text
from commonplace.channels.recovery import RoomRecovery, progress_data
from commonplace.channels.room_budgets import RoomBudgets
from commonplace.channels.roster import roster
from commonplace.channels.router import Router, route_key
from commonplace.channels.scheduled_turns import ScheduledTurns
from commonplace.channels.sentences import parse_sentence
from commonplace.channels.speakers import (
    channel_principal,
    identity_of,
    in_session,
    member_speaker,
    speaker,
)
from commonplace.channels.votes import CHOICES, RoomVotes
from commonplace.errors import CommonplaceError, InternalError
from commonplace.events.ring import Ring
from commonplace.ports.channel import ButtonPress, Channel, Outgoing
from commonplace.ports.journal import Entries
from commonplace.ports.schedule_target import Delivery
from commonplace.text.scrub import scrub
from commonplace.values.audit import AuditOutcome, AuditRow
from commonplace.values.channel import (
    MAX_ROOM_TITLE,
    ChannelProfile,
    ChannelSender,
    ChatRoom,
    RoomMessage,
    Route,
)
from commonplace.values.envelope import Envelope
from commonplace.values.json import Json
from commonplace.values.moment import new_id, utc
from commonplace.values.principal import Principal
from commonplace.values.session import SessionEnding, TurnQueueFull
from commonplace.values.session_lease import SessionElsewhere, SessionInUse
from commonplace.values.turn_event import PermissionAnswered, PermissionAsked, RecalledMemory, TurnEvent

LOGGER: Final = logging.getLogger("commonplace")
MOST_OF_ONE: Final = 4
"""Requests of one sender that wait or are played in a session: others find a place in its queue."""
_CLOSE_SECONDS: Final = 5.0


@dataclass(frozen=True, kw_only=True, slots=True)
class _Arrival:
    """A message that is to be handled, and its run. `is_flood`: its sender has said too much in a while."""

    envelope: Envelope
    run: str
    is_flood: bool = False


@dataclass(kw_only=True, slots=True)
class _Chat:
    """What is to be handled of one chat, and what is left for later (`collect`)."""

    waiting: deque[_Arrival] = field(default_factory=deque[_Arrival])
    later: list[tuple[Envelope, str]] = field(default_factory=list[tuple[Envelope, str]])
    lock: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while something of it is said, or a command is done."""
    task: asyncio.Task[None] | None = None


class Residence:
    def __init__(self, tenant: str, profile: ChannelProfile, platform: Channel, parts: RoomParts) -> None:
        self.tenant = tenant
        self.profile = profile
        self.platform = platform
        self.parts = parts
        self.owner = channel_principal(tenant, profile)
        self.router = Router(owner=self.owner, profile=profile, store=parts.store, history=parts.history)
        self._limits = SenderLimits()
        self._chats: dict[str, _Chat] = {}
        self._followers: dict[str, RoomFollower] = {}
        self._late: set[asyncio.Task[None]] = set()
        """What the platform is told again."""
        self._under_way: set[tuple[str, str]] = set()
        """Messages, by chat and id, about which something is still done here."""
        self.votes = RoomVotes(self)
        self.budgets = RoomBudgets(self)
        self.scheduled = ScheduledTurns(self)
        self._commands = RoomCommands(self)
        self._closed = False

    @asynccontextmanager
    async def open(self) -> AsyncGenerator[None]:
        """Connected; what was kept and not handled when a process ended, or the channel was stopped, is handled now."""
        recovery = RoomRecovery(self)
        turns = await recovery.unhandled()
        async with self.platform.connect(self):
            try:
                await recovery.go_on(turns)
                await self.votes.load()
                yield
            finally:
                await self._close()

    @property
    def is_busy(self) -> bool:
        """Whether a turn is played, or waits, of which a room is to be told."""
        return any(follower.is_busy for follower in self._followers.values())

    @property
    def is_telling(self) -> bool:
        """Whether something is to be told again that the platform did not take."""
        return bool(self._late)

    async def settle(self) -> None:
        """Wait until everything that came is with the agent."""
        while tasks := {chat.task for chat in self._chats.values() if chat.task is not None and not chat.task.done()}:
            await asyncio.wait(tasks)

    async def _close(self) -> None:
        self._closed = True
        for chat in self._chats.values():
            chat.waiting.clear()
        tasks = {chat.task for chat in self._chats.values() if chat.task is not None and not chat.task.done()}
        if tasks:
            # What is handled now is handled to its end, so that the next one does not do it a second time.
            _, tasks = await asyncio.wait(tasks, timeout=_CLOSE_SECONDS)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for session, follower in self._followers.items():
            await follower.aclose()
            await self._note_progress(session, follower)
        for task in self._late:
            task.cancel()
        if self._late:
            await asyncio.wait(self._late)

    async def _note_progress(self, session: str, follower: RoomFollower) -> None:
        """For the one that tells the room of the rest of the turn."""
        target = follower.current
        if target is None or target.schedule is not None:
            return
        progress = replace(follower.progress, questions=self.votes.waiting_of(session))
        try:
            await self.note_message(target.chat, target.message, {PROGRESS: progress_data(progress)})
        except CommonplaceError as error:
            self.log_undelivered(error)

    async def note_message(self, chat: str, message: str, data: Mapping[str, Json]) -> None:
        """Keep something more with a message."""
        place = (self.tenant, self.profile.name, chat, message)
        if (row := await self.parts.store.message(*place)) is not None:
            await self.parts.store.change_message(*place, data={**row.data, **data})

    # ---- in

    async def receive(self, envelope: Envelope) -> RoomMessage | None:
        """Take a message over. None: it is known already, or none of this channel."""
        taken = accepted(self.profile, envelope)
        if taken is None:
            self._log("malformed", envelope)
            return None
        now = self.parts.clock.now()
        run, key = new_id(now), (taken.chat, taken.id)
        is_new = key not in self._under_way
        self._under_way.add(key)
        # A secret belongs neither in the room's log nor in the agent's history.
        envelope = replace(taken, text=(await asyncio.to_thread(scrub, taken.text)).text)
        message = await self.parts.store.keep_message(self.tenant, draft_of(envelope, run))
        if message is None:
            if is_new:
                self._under_way.discard(key)
            return None
        # Only what is meant for us counts: people may talk to each other as much as they like.
        flood = self._limits.take(envelope.sender, min(envelope.at, now)) if self._is_meant(envelope) else "taken"
        if flood != "taken":
            self._log("flooded", envelope)
        if flood == "refused_again":
            # It stands in no queue, so that nobody waits behind it.
            await self.done(envelope.chat, envelope.id)
        else:
            self._take(_Arrival(envelope=envelope, run=run, is_flood=flood == "refused"))
        return message

    def _is_meant(self, envelope: Envelope) -> bool:
        is_named = envelope.mentions_bot or envelope.replies_to_bot or not envelope.is_group
        return is_named or not self.profile.settings.group(envelope.chat).require_mention

    async def press(self, press: ButtonPress) -> str | None:
        """A button or a mark: the stop of an answer, which is for whoever asked for it, or a vote. What its presser is to be shown."""
        room = await self.parts.store.room(self.tenant, self.profile.name, press.chat)
        if room is None:
            return None
        if press.action == "stop":
            return await self._stop(press)
        if press.action not in CHOICES:
            return None
        return await self.votes.by_press(await self._presser(room, press.sender), press)

    async def _stop(self, press: ButtonPress) -> str | None:
        for session, follower in self._followers.items():
            target = follower.is_answering(press.key)
            if target is not None and target.chat == press.chat:
                phrases = CHINESE if target.chinese else ENGLISH
                if target.sender != press.sender:
                    return phrases.not_allowed
                await self.parts.agent.cancel(self.owner, session)
                return phrases.cancelled
        return None

    async def open_room(self, chat: str, *, title: str = "", is_group: bool = True) -> None:
        """We were let into a room, or it has another title."""
        now = utc(self.parts.clock.now())
        room = await self.parts.store.room(self.tenant, self.profile.name, chat)
        if room is None:
            room = ChatRoom(channel=self.profile.name, chat=chat, created_at=now, is_group=is_group)
        elif title in ("", room.title):
            return
        await self.parts.store.put_room(self.tenant, replace(room, title=title[:MAX_ROOM_TITLE]), Entries())

    def take(self, envelope: Envelope, run: str) -> None:
        """Handle a message that is kept already."""
        self._take(_Arrival(envelope=envelope, run=run))

    def _take(self, arrival: _Arrival) -> None:
        chat = self._chats.setdefault(arrival.envelope.chat, _Chat())
        chat.waiting.append(arrival)
        if chat.task is None or chat.task.done():
            chat.task = asyncio.create_task(self._work(chat))

    async def _work(self, chat: _Chat) -> None:
        while chat.waiting:
            arrival = chat.waiting.popleft()
            envelope, run = arrival.envelope, arrival.run
            try:
                async with chat.lock:
                    await self._handle(arrival)
            except CommonplaceError as error:
                # One that is stopped leaves it to whoever leads the channel next.
                if not (self._closed and isinstance(error, SessionElsewhere | SessionInUse)):
                    await self._failed(envelope, run, error)
            except Exception as error:
                # The top of a worker: a fault of ours costs this message, not the room.
                LOGGER.error("unexpected", exc_info=error, extra={"told": {"channel": self.profile.name}})
                await self._failed(envelope, run, InternalError())

    async def _handle(self, arrival: _Arrival) -> None:
        envelope, run = arrival.envelope, arrival.run
        if not (await self._is_heard(arrival) and await self._is_for_agent(envelope, run)):
            await self.done(envelope.chat, envelope.id)

    async def _is_for_agent(self, envelope: Envelope, run: str) -> bool:
        """Whether the agent has it now. False: nothing is left to do."""
        room = await self._room(envelope)
        who = await self.speaker(room, envelope)
        command = parse_command(envelope.text)
        if command is not None:
            await self._commands.do(command, envelope, room, who)
            return False
        if room.paused:
            return False
        sentence = parse_sentence(envelope.text, self.profile.settings.for_room(envelope.chat).agent)
        if sentence is not None and await self._commands.understands(sentence, room, who):
            await self._commands.do(sentence, envelope, room, who)
            return False
        if is_blank(envelope.text) and not envelope.attachments:
            if envelope.mentions_bot:
                await self.tell(envelope, self.words(envelope).nothing_said.format(name=_name(envelope)))
            return False
        if envelope.text.endswith(CUT):
            await self.tell(envelope, self.words(envelope).too_long.format(name=_name(envelope), most=f"{MAX_TEXT:,}"))
        if not await self._can_pay(envelope, room, who, run):
            return False
        if envelope.attachments:
            envelope = await self._with_files(envelope, room, who)
        await self._dispatch(envelope, room, who, run)
        return True

    async def _with_files(self, envelope: Envelope, room: ChatRoom, who: Principal) -> Envelope:
        """With what came with it as files of the room. They are kept with the message, so that they are fetched once."""
        if all(file.path is not None for file in envelope.attachments):
            return envelope
        envelope = await self.parts.files.fetched(who, self.platform, room, envelope)
        await self.note_message(envelope.chat, envelope.id, {"attachments": attachment_data(envelope.attachments)})
        lost = lost_files(envelope)
        if lost:
            lines = "\n".join(f"- {file_name(file.name)}: {file.problem}" for file in lost)
            await self.tell(envelope, self.words(envelope).files_lost.format(name=_name(envelope), lines=lines))
        return envelope

    async def _failed(self, envelope: Envelope, run: str, error: CommonplaceError) -> None:
        self._log("failed", envelope, code=error.code)
        phrases = self.words(envelope)
        if isinstance(error, TurnQueueFull):
            text = phrases.queue_full.format(name=_name(envelope))
        else:
            text = phrases.failed.format(name=_name(envelope), reason=error.message)
        await self.tell(envelope, text, key=f"{run}-failed")
        await self.done(envelope.chat, envelope.id)

    # ---- who is heard

    async def _is_heard(self, arrival: _Arrival) -> bool:
        envelope, settings = arrival.envelope, self.profile.settings
        group: ChannelSender | None = None
        if envelope.is_group and settings.group_policy == "pairing":
            group = await self.parts.store.sender(self.tenant, self.profile.name, f"{GROUP}{envelope.chat}")
        refusal = group_refusal(settings, envelope, group)
        if refusal is not None:
            return await self._refuse(envelope, refusal, f"{GROUP}{envelope.chat}")
        if arrival.is_flood:
            await self.tell(envelope, self.words(envelope).flooded.format(name=_name(envelope)))
            return False
        sender = None
        if settings.senders == "pairing":
            sender = await self.parts.store.sender(self.tenant, self.profile.name, envelope.sender)
        refusal = sender_refusal(settings, envelope.sender, sender)
        return refusal is None or await self._refuse(envelope, refusal, envelope.sender)

    async def _refuse(self, envelope: Envelope, refusal: Refusal, sender: str) -> bool:
        self._log(refusal, envelope)
        if refusal == "pairing_required":
            await self._pair(envelope, sender)
        return False

    async def _pair(self, envelope: Envelope, sender: str) -> None:
        """Somebody whom we do not know gets a code."""
        store, phrases = self.parts.store, self.words(envelope)
        senders = await store.senders(self.tenant, self.profile.name)
        name = _name(envelope)
        if sender != envelope.sender:
            # A group: what it is called says more to an admin than who happened to write there.
            room = await store.room(self.tenant, self.profile.name, envelope.chat)
            name = display_name(room.title) if room is not None and room.title else name
        new = ChannelSender(channel=self.profile.name, sender=sender, name=name)
        waiting = pairing_codes.asked(senders, new, utc(self.parts.clock.now()))
        if waiting is None:
            await self.tell(envelope, phrases.pairing_full)
            return
        if waiting not in senders:
            entries = Entries(audit=(self.audit_row("channel.pairing_asked", None, details={"sender": sender}),))
            await store.put_sender(self.tenant, waiting, entries)
        await self.tell(envelope, phrases.pairing.format(code=waiting.code))

    # ---- who acts, and where

    async def speaker(self, room: ChatRoom, envelope: Envelope) -> Principal:
        if envelope.asker is not None:
            return member_speaker(self.profile, room, envelope.asker)
        return await self._presser(room, envelope.sender)

    async def _presser(self, room: ChatRoom, sender: str) -> Principal:
        link = await self.parts.store.link(self.tenant, identity_of(self.profile, sender))
        return speaker(self.tenant, self.profile, room, sender, None if link is None else link.subject)

    async def _room(self, envelope: Envelope) -> ChatRoom:
        room = await self.parts.store.room(self.tenant, self.profile.name, envelope.chat)
        if room is None:
            now = utc(self.parts.clock.now())
            room = ChatRoom(channel=self.profile.name, chat=envelope.chat, created_at=now, is_group=envelope.is_group)
            await self.parts.store.put_room(self.tenant, room, Entries())
        return room

    async def place(self, room: ChatRoom, session: str) -> None:
        """Let the turns of a session know their room."""
        settings, voters = self.profile.settings.for_room(room.chat), tuple[str, ...]()
        if settings.permissions == "consensus":
            voters = await roster(self.parts.store, self.tenant, self.profile, room, self.parts.clock.now())
        pots = () if settings.budget is None else (room_pot(settings.budget, room.scope, self.parts.clock.now())[0],)
        self.parts.rooms.put(
            session,
            RoomPlace(
                tenant=self.tenant,
                channel=room.channel,
                chat=room.chat,
                scope=room.scope,
                instructions=settings.instructions,
                pots=pots,
                policy=settings.permissions,
                quorum=settings.quorum,
                learn=settings.learn,
                archive=settings.archive,
                roster=voters,
                zone=settings.zone,
                model=self.profile.settings.group(room.chat).model,
                tools=self.profile.settings.group(room.chat).tools,
                mcp_servers=self.profile.settings.group(room.chat).mcp_servers,
            ),
        )

    async def _can_pay(self, envelope: Envelope, room: ChatRoom, who: Principal, run: str) -> bool:
        """Whether the room has anything left. What is under way is finished; what was not begun is declined, not cut short."""
        if await self.budgets.window_end(room) is None:
            return True
        await self.budgets.note_declined(room, who, envelope.sender, run)
        await self.tell(envelope, self.words(envelope).spent, key=f"{run}-spent")
        return False

    # ---- to the agent

    async def _dispatch(self, envelope: Envelope, room: ChatRoom, who: Principal, run: str) -> None:
        try:
            await self._say_or_collect(envelope, room, who, run)
        except SessionEnding:
            # Somebody has begun another conversation, perhaps in another room of the same session.
            await self._say_or_collect(envelope, room, who, run)

    async def _say_or_collect(self, envelope: Envelope, room: ChatRoom, who: Principal, run: str) -> None:
        route = await self.router.resolve(envelope, room)
        await self.place(room, route.session)
        dispatch = dispatch_of(self.profile.settings, envelope)
        follower = await self._follower_when_free(route.session, envelope)
        chat = self._chats[envelope.chat]
        if dispatch.mode == "collect" and (follower.is_busy or self._is_collected(chat, envelope)):
            # It stays in the inbox, and is said when the turn has ended.
            chat.later.append((envelope, run))
            return
        note = ""
        if dispatch.mode == "steer" and follower.is_busy:
            note = INTERRUPTED if await self._interrupts(route.session) else ""
        await self._say(envelope, route, in_session(who, route.session), run, note=note)

    def _is_collected(self, chat: _Chat, envelope: Envelope) -> bool:
        """Whether something that came before it for the same session is not said yet."""
        route = self.profile.settings.route
        key = route_key(route, envelope)
        return any(route_key(route, earlier) == key for earlier, _ in chat.later)

    async def _follower_when_free(self, session: str, envelope: Envelope) -> RoomFollower:
        """Who led the channel before may lead its session for a moment still. Raises SessionElsewhere, SessionInUse: for longer."""
        for pause in self.parts.session_pauses:
            try:
                return await self.follower(session)
            except (SessionElsewhere, SessionInUse) as error:
                self._log("elsewhere", envelope, code=error.code)
                if self._closed:
                    raise
                await asyncio.sleep(pause)
        return await self.follower(session)

    async def _interrupts(self, session: str) -> bool:
        """End the turn that is played, if somebody asked for it: what a schedule plays goes on, and what is said now waits."""
        prompts = (await self.parts.agent.state(self.owner, session)).prompts
        if not prompts or prompts[0].scheduled is not None:
            return False
        return await self.parts.agent.cancel(self.owner, session, run=prompts[0].run)

    async def _say(
        self,
        envelope: Envelope,
        route: Route,
        who: Principal,
        run: str,
        *,
        note: str = "",
        others: tuple[str, ...] = (),
    ) -> None:
        text = prompt_text(envelope, shared=self._is_shared(envelope))
        text = f"{note}\n\n{text}" if note else text
        target = replace(self.target(envelope, run), others=others, speaker=who.subject)
        follower = await self.follower(route.session)
        if follower.waiting_of(envelope.sender) >= MOST_OF_ONE:
            raise TurnQueueFull(limit=MOST_OF_ONE, retry_after=5)
        follower.expect(target)
        await self._note_request(envelope, route, who, run)
        for message in (*others, envelope.id):
            await self.note_message(envelope.chat, message, {RUN: run, SESSION: route.session})
        try:
            await self.parts.agent.say(who, route.session, text, run=run)
        except BaseException:
            follower.forget(run)
            raise

    def _is_shared(self, envelope: Envelope) -> bool:
        """Whether others may talk in the session, too, so that each is named."""
        route = self.profile.settings.route
        return is_shared(route, envelope) or (envelope.is_group and route != "user")

    def target(self, envelope: Envelope, run: str) -> Target:
        return Target(
            run=run,
            chat=envelope.chat,
            message=envelope.id,
            thread=envelope.thread,
            sender=envelope.sender,
            name=envelope.sender_name or envelope.sender,
            chinese=self._is_chinese(envelope),
        )

    async def follower(self, session: str) -> RoomFollower:
        """Who tells the room of this session's turns."""
        return self.follow(session, await self.parts.agent.ring(self.owner, session))

    def follow(self, session: str, ring: Ring[TurnEvent], *, after: int | None = None) -> RoomFollower:
        """Who follows it already, else somebody from behind the event `after`."""
        present = self._followers.get(session)
        if present is not None and present.is_alive and present.ring is ring:
            return present
        parts = FollowerParts(
            platform=self.platform,
            blocks=self.profile.settings.blocks,
            telling=self.telling,
            ended=self._ended,
            undelivered=self.undelivered,
            ask=partial(self._asked, session),
            answered=self._answered,
        )
        follower = self._followers[session] = RoomFollower(parts, ring, after=after)
        return follower

    async def telling(self, target: Target) -> None:
        """Without keys, what was begun to be told is not told again: that is kept before."""
        if target.schedule is not None:
            await self.scheduled.telling(target)
            return
        if not self.platform.limits.send_keys:
            await self.note_message(target.chat, target.message, {TELLING: True})

    def undelivered(self, target: Target, deliveries: Sequence[RoomDelivery]) -> None:
        if target.schedule is not None:
            self.do_later(self._scheduled_untold(target, deliveries))
            return
        # What was collected does not wait for the platform.
        self.do_later(self._say_later(target.chat))
        if self._may_come_again(deliveries):
            self.do_later(self._deliver_later(deliveries, target))
        else:
            # It may be in the room: without a key it is not sent a second time.
            LOGGER.warning("room", extra={"told": {"outcome": "in_doubt", "chat": target.chat, "run": target.run}})
            self.do_later(self._ended(target))

    def _may_come_again(self, deliveries: Sequence[RoomDelivery]) -> bool:
        """The platform knows it again, or certainly did not take it."""
        return self.platform.limits.send_keys or deliveries[0].untaken

    async def _scheduled_untold(self, target: Target, deliveries: Sequence[RoomDelivery]) -> None:
        await self.scheduled.undelivered(target, deliveries)
        await self._after_turn(target)

    async def _deliver_later(
        self,
        deliveries: Sequence[RoomDelivery],
        target: Target | None = None,
        *,
        is_due: Callable[[], bool] = lambda: True,
    ) -> None:
        """Try again, for a while. The end of a turn that is not told by then is tried at the next start."""
        for pause in self.parts.pauses:
            await asyncio.sleep(max(pause, deliveries[0].wait))
            if not is_due():
                break
            deliveries = await deliver(self.platform, deliveries)
            if not deliveries or not self._may_come_again(deliveries):
                break
        if target is not None and not deliveries:
            await self._ended(target)

    def do_later(self, work: Coroutine[Any, Any, None]) -> None:
        """Beside everything else, as long as the channel is open."""
        task = asyncio.create_task(work)
        self._late.add(task)
        task.add_done_callback(self._late.discard)

    async def _ended(self, target: Target) -> None:
        if target.schedule is not None:
            self.scheduled.ended(target)
        else:
            await self.done(target.chat, *target.others, target.message)
        await self._after_turn(target)

    async def _after_turn(self, target: Target) -> None:
        await self._say_later(target.chat)
        await self.budgets.after_turn(target)

    async def _say_later(self, name: str) -> None:
        """What came in a chat while a turn was played, as one."""
        chat = self._chats.get(name)
        if chat is None:
            return
        async with chat.lock:
            is_said = False
            while chat.later and not is_said:
                batch, chat.later = chat.later, []
                is_said = await self._say_batch(batch)

    async def _say_batch(self, batch: Sequence[tuple[Envelope, str]]) -> bool:
        """By their sessions. Whether the end of a turn will bring on what is collected next."""
        by_key: dict[str, list[tuple[Envelope, str]]] = {}
        for envelope, run in batch:
            by_key.setdefault(route_key(self.profile.settings.route, envelope), []).append((envelope, run))
        is_said = False
        for entries in by_key.values():
            last, run = entries[-1]
            try:
                await self._say_collected(entries)
                is_said = True
            except SessionEnding:
                # Said again, in the conversation that somebody has begun, before what was collected since.
                self._chats[last.chat].later[:0] = entries
            except CommonplaceError as error:
                await self._failed(last, run, error)
                await self.done(last.chat, *(envelope.id for envelope, _ in entries[:-1]))
        return is_said

    async def _say_collected(self, entries: Sequence[tuple[Envelope, str]]) -> None:
        last, run = entries[-1]
        text = collected([prompt_text(envelope, shared=self._is_shared(envelope)) for envelope, _ in entries])
        merged = replace(last, text=text, already_prefixed=True, quote=None, attachments=())
        room = await self._room(last)
        who = await self.speaker(room, last)
        route = await self.router.resolve(last, room)
        others = tuple(envelope.id for envelope, _ in entries[:-1])
        await self._say(merged, route, in_session(who, route.session), run, others=others)

    # ---- permissions

    async def _asked(self, session: str, target: Target, event: PermissionAsked) -> None:
        await self.votes.ask(session, target, event.request)

    async def _answered(self, event: PermissionAnswered) -> None:
        await self.votes.tell_outcome(event.answer)

    def in_session(self, who: Principal, session: str) -> Principal:
        """Somebody of the room, as they act in one session of it."""
        return in_session(who, session)

    def last_memories(self, session: str) -> tuple[RecalledMemory, ...]:
        """What the last turn of a session rested on."""
        follower = self._followers.get(session)
        return () if follower is None else follower.memories

    # ---- after a restart

    async def look_again(self) -> None:
        """Take up what another process has kept, and does not handle any more."""
        recovery = RoomRecovery(self)
        await recovery.go_on(await recovery.unhandled())

    async def takes_up(self, chat: str, message: str) -> bool:
        """Whether nothing was done about it here, nor is."""
        key = chat, message
        if key in self._under_way:
            return False
        self._under_way.add(key)
        row = await self.parts.store.message(self.tenant, self.profile.name, chat, message)
        if row is not None and not row.handled:
            return True
        # It was done about since it was listed.
        self._under_way.discard(key)
        return False

    # ---- out

    def words(self, envelope: Envelope) -> RoomPhrases:
        return words(self.profile.settings.language, envelope.text)

    def _is_chinese(self, envelope: Envelope) -> bool:
        language = self.profile.settings.language
        return is_chinese(envelope.text) if language is None else language == "zh"

    async def tell(self, envelope: Envelope, text: str, *, key: str | None = None) -> None:
        """Say something in the room that is not the agent's word. If the platform does not take it, it is tried again where it cannot come twice."""
        await self.post(notice(envelope, text, key=key or new_id(self.parts.clock.now())))

    async def post(self, message: Outgoing, is_due: Callable[[], bool] = lambda: True) -> None:
        """Send it, and if the platform does not take it, again and again as `tell`, for as long as it `is_due`."""
        rest = await deliver(self.platform, [RoomDelivery(message=message)])
        if rest and self._may_come_again(rest):
            self.do_later(self._deliver_later(rest, is_due=is_due))

    async def done(self, chat: str, *messages: str) -> None:
        await self.parts.store.mark_handled(self.tenant, self.profile.name, chat, messages)
        self._under_way -= {(chat, message) for message in messages}

    # ---- what is written down

    async def _note_request(self, envelope: Envelope, route: Route, who: Principal, run: str) -> None:
        """Who began this turn: also one that only reads."""
        details: dict[str, Json] = {
            "sender": envelope.sender,
            "sender_name": _name(envelope),
            "channel": self.profile.name,
            "chat": envelope.chat,
            "session": route.session,
            "prompt": sha256(envelope.text.encode("utf-8", "replace")).hexdigest()[:16],
        }
        row = self.audit_row("task.requested", envelope.chat, who=who, run=run, details=details)
        await self.parts.journal.note(Entries(audit=(row,)))

    async def note_scheduled(self, room: ChatRoom, route: Route, who: Principal, delivery: Delivery) -> None:
        """The same of a turn that nobody asked for just now."""
        details: dict[str, Json] = {
            "schedule": delivery.schedule,
            "channel": room.channel,
            "chat": room.chat,
            "session": route.session,
            "prompt": sha256(delivery.text.encode("utf-8", "replace")).hexdigest()[:16],
        }
        row = self.audit_row("task.requested", room.chat, who=who, run=delivery.runs[0], details=details)
        await self.parts.journal.note(Entries(audit=(row,)))

    def audit_row(
        self,
        action: str,
        chat: str | None,
        *,
        who: Principal | None = None,
        run: str | None = None,
        outcome: AuditOutcome = "ok",
        details: dict[str, Json] | None = None,
    ) -> AuditRow:
        now, actor = self.parts.clock.now(), who or self.owner
        scope = None if chat is None else ChatRoom(channel=self.profile.name, chat=chat, created_at=now).scope
        return AuditRow(
            id=new_id(now),
            at=now,
            tenant=self.tenant,
            actor=actor.actor,
            action=action,
            outcome=outcome,
            scope=scope,
            run=run,
            door="channel",
            key=actor.key,
            client=actor.client,
            details=details or {},
        )

    @staticmethod
    def log_undelivered(error: CommonplaceError) -> None:
        LOGGER.warning("room", extra={"told": {"code": error.code, "message": error.message}})

    def _log(self, what: str, envelope: Envelope, **more: str) -> None:
        """Never what was said."""
        ids = {"chat": envelope.chat, "sender": envelope.sender, "message": envelope.id}
        fields = {"channel": self.profile.name, **{name: id[:MAX_ID] for name, id in ids.items()}}
        LOGGER.info("room", extra={"told": {"outcome": what, **fields, **more}})


def _name(envelope: Envelope) -> str:
    return display_name(envelope.sender_name or envelope.sender)
