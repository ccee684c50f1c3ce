"""
Our client of Matrix at a real Synapse: that the server in `testing/homeserver.py` is as a real one is, and what only a real one can show.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from commonplace.ports.channel import CardOption, CardOutcome, Outgoing, PermissionCard
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.channels import OPEN
from commonplace.testing.clock import FakeClock
from commonplace.testing.events import until
from commonplace.testing.matrix_line import MatrixLine
from commonplace.testing.synapse import API, MatrixPerson, Synapse
from commonplace.values.channel import GroupSettings, PlatformError
from commonplace.values.envelope import ChatAttachment
from commonplace.values.permission import PermissionRequest

pytestmark = pytest.mark.anyio

PATIENCE = 30.0


class Talk:
    """The account of our agent, Ana and Bob, and the channel `line`."""

    def __init__(self, synapse: Synapse, store: SqliteStore) -> None:
        self.synapse = synapse
        self.bot, self.ana, self.bob = (synapse.person(name) for name in ("assistant", "ana", "bob"))
        self.line = MatrixLine(synapse.url, self.bot.token, store, FakeClock())

    async def room(self, *, name: str = "Releases", **more: Any) -> str:
        """A room of all three; the channel is at work."""
        room = self.ana.new_room(self.bot, self.bob, name=name, **more)
        self.bob.join(room)
        await seen(lambda: self.bot.id in self.ana.members(room))
        return room

    @property
    def said(self) -> list[str]:
        return self.line.desk.texts


async def seen(look: Callable[[], Any]) -> Any:
    """What `look` finds at the server, once it finds anything."""
    async with asyncio.timeout(PATIENCE):
        # What is waited for is at the server.
        while not (result := await asyncio.to_thread(look)):  # noqa: ASYNC110
            await asyncio.sleep(0.05)
    return result


@pytest.fixture
async def talk(synapse: Synapse, tmp_path: Path) -> AsyncGenerator[Talk]:
    store = await SqliteStore.open(tmp_path / "memory.db", FakeClock())
    yield Talk(synapse, store)
    await store.aclose()


@asynccontextmanager
async def stopped(synapse: Synapse) -> AsyncGenerator[None]:
    await asyncio.to_thread(synapse.server.stop)
    try:
        yield
    finally:
        await asyncio.to_thread(synapse.server.start)


async def test_a_gap_of_ours_is_filled_and_nothing_comes_twice(talk: Talk) -> None:
    async with talk.line.open():
        room = await talk.room()
        talk.ana.say(room, "first", to=talk.bot)
        await talk.line.heard("first", seconds=PATIENCE)
    texts = [f"message {number}" for number in range(170)]
    for text in texts:
        talk.bob.say(room, text)
    async with talk.line.open():
        await talk.line.heard("first", *texts, seconds=PATIENCE)
    async with talk.line.open():
        talk.ana.say(room, "last")
        await talk.line.heard("first", *texts, "last", seconds=PATIENCE)


async def test_it_comes_back_when_synapse_does_and_what_it_could_not_say_is_said_once(
    talk: Talk, synapse: Synapse
) -> None:
    message = Outgoing(chat="", text="On Fridays.", key="k")
    async with talk.line.open() as channel:
        room = await talk.room()
        message = replace(message, chat=room)
        await channel.send(message)
        async with stopped(synapse):
            await until(lambda: channel.connection.status == "waiting", PATIENCE)
            with pytest.raises(PlatformError, match="Cannot reach"):
                await channel.send(replace(message, key="k2", text="At noon."))
        talk.ana.say(room, "Back?", to=talk.bot)
        await talk.line.heard("Back?", seconds=PATIENCE)
        await channel.send(replace(message, key="k2", text="At noon."))
        # The server knows a key also when it was stopped in between.
        await channel.send(message)
        await until(lambda: channel.connection.status == "connected", PATIENCE)

    assert [sent.text for sent in talk.ana.messages(room, talk.bot)] == ["On Fridays.", "At noon."]


async def test_a_thread_is_heard_and_answered_as_one_and_a_pill_means_us(talk: Talk) -> None:
    async with talk.line.open() as channel:
        room = await talk.room()
        root = talk.ana.say(room, "Shall we?")
        relation = {"rel_type": "m.thread", "event_id": root}
        inside = talk.bob.say(room, "when?", to=talk.bot, **{"m.relates_to": relation})
        await talk.line.heard("Shall we?", "when?", seconds=PATIENCE)
        await channel.send(Outgoing(chat=room, text="On Fridays.", key="k", thread=root, reply_to=inside))
        thread = talk.ana.ask("GET", f"/_matrix/client/v1/rooms/{room}/relations/{root}/m.thread")

    first, second = talk.line.desk.envelopes
    assert (first.mentions_bot, first.thread) == (False, None)
    assert (second.mentions_bot, second.thread, second.sender_name) == (True, root, "Bob")
    assert [event["content"]["body"] for event in thread["chunk"]] == ["On Fridays.", "Assistant: when?"]


async def test_an_answer_grows_by_edits_and_a_restart_makes_it_whole(talk: Talk) -> None:
    async with talk.line.open() as channel:
        room = await talk.room()
        await channel.send(Outgoing(chat=room, text="On …", key="k", partial=True))
        await channel.edit(room, "k", "On Fri …")
        growing = talk.ana.messages(room, talk.bot)[0].text
    async with talk.line.open() as channel:
        await channel.send(Outgoing(chat=room, text="On **Fridays**.", key="k"))
        (message,) = talk.ana.messages(room, talk.bot)
        event = talk.ana.ask("GET", f"{API}/rooms/{room}/event/{message.id}")

    assert growing == "On Fri …"
    assert message.text == "On **Fridays**."
    edit = event["unsigned"]["m.relations"]["m.replace"]["content"]["m.new_content"]
    assert edit["formatted_body"] == "<p>On <strong>Fridays</strong>.</p>"


async def test_a_file_that_somebody_sends_is_fetched(talk: Talk) -> None:
    content = bytes(range(256)) * 400
    upload = talk.ana.http.post("/_matrix/media/v3/upload", params={"filename": "plan.bin"}, content=content)
    reference = upload.json()["content_uri"]
    async with talk.line.open() as channel:
        room = await talk.room()
        talk.ana.say(room, "plan.bin", msgtype="m.file", url=reference)
        await until(lambda: bool(talk.line.desk.envelopes), PATIENCE)
        (file,) = talk.line.desk.envelopes[0].attachments
        fetched = await channel.download(file)
        with pytest.raises(PlatformError, match="M_NOT_FOUND"):
            await channel.download(ChatAttachment(kind="file", name="x", reference=f"{reference[:-4]}none"))

    assert (file.name, file.reference) == ("plan.bin", reference)
    assert fetched == content


async def test_the_limits_of_the_server_are_honoured_and_nothing_is_lost(talk: Talk, synapse: Synapse) -> None:
    texts = [f"{number}" for number in range(8)]
    async with talk.line.open() as channel:
        room = await talk.room()
        synapse.limit(talk.bot, per_second=2, burst=2)
        await asyncio.gather(*(channel.send(Outgoing(chat=room, text=text, key=text)) for text in texts))
        talk.ana.say(room, "Still there?")
        await talk.line.heard("Still there?", seconds=PATIENCE)

    assert sorted(sent.text for sent in talk.ana.messages(room, talk.bot)) == texts
    assert any(0 < pause <= 30 for pause in talk.line.pauses)


async def test_invitations_are_taken_where_somebody_would_be_heard(talk: Talk) -> None:
    talk.line.settings = replace(OPEN, group_policy="allowlist", senders="allowlist", allowed=(talk.ana.id,))
    async with talk.line.open() as channel:
        refused = talk.bob.new_room(talk.bot, name="Not yours")
        direct = talk.ana.new_room(talk.bot, direct=True)
        await seen(lambda: talk.bot.id in talk.ana.members(direct))
        await until(lambda: any(entry.event == "not_joined" for entry in channel.log), PATIENCE)
        talk.ana.say(direct, "Hello")
        await talk.line.heard("Hello", seconds=PATIENCE)
        before = talk.bob.members(refused)
    talk.line.settings = replace(talk.line.settings, groups={refused: GroupSettings()})
    async with talk.line.open():
        await seen(lambda: talk.bot.id in talk.bob.members(refused))
        marked = talk.bot.ask("GET", f"{API}/user/{talk.bot.id}/account_data/m.direct")

    assert before == {talk.bob.id}
    assert (direct, "Ana", False) in talk.line.desk.rooms
    assert marked == {talk.ana.id: [direct]}


async def test_a_room_in_which_nobody_has_spoken_is_written_to(talk: Talk) -> None:
    async with talk.line.open() as channel:
        room = await talk.room()
        await channel.send(Outgoing(chat=room, text="Good morning", key="k"))
        with pytest.raises(PlatformError, match="M_FORBIDDEN"):
            await channel.send(Outgoing(chat=talk.bob.new_room(), text="Good morning", key="k"))

    assert channel.can_cold_send
    assert [sent.text for sent in talk.bob.messages(room, talk.bot)] == ["Good morning"]


async def test_an_encrypted_room_is_told_so_once(talk: Talk) -> None:
    async with talk.line.open() as channel:
        room = await talk.room(name="Secret", encrypted=True)
        await seen(lambda: talk.ana.messages(room, talk.bot))
        with pytest.raises(PlatformError, match="encrypted"):
            await channel.send(Outgoing(chat=room, text="Hello", key="k"))
    async with talk.line.open():
        talk.ana.say(room, "In the clear", to=talk.bot)
        other = await talk.room(name="Open")
        talk.ana.say(other, "Here")
        await talk.line.heard("Here", seconds=PATIENCE)

    (notice,) = talk.ana.messages(room, talk.bot)
    assert "encrypted" in notice.text


async def test_people_vote_by_reactions_to_the_question(talk: Talk) -> None:
    request = PermissionRequest(id="p1", call="c", tool="write_file", kind="edit", title="Write", rule="write_file")
    options = tuple(CardOption(label=command, command=command) for command in ("approve", "approve-always", "deny"))
    card = PermissionCard(request=request, options=options)
    async with talk.line.open() as channel:
        room = await talk.room()
        event = await channel.send(Outgoing(chat=room, text="May I?", key="p1-card", notice=True, card=card))
        await seen(lambda: len(talk.ana.reactions(room, event, talk.bot)) == 3)
        talk.ana.react(room, talk.ana.say(room, "Lunch?"), "👍")
        talk.bob.react(room, event, "👍")
        await until(lambda: bool(talk.line.desk.presses), PATIENCE)
        await channel.settle_card(room, "p1-card", CardOutcome(text="Allowed by bob.", allowed=True, voter="bob"))

    (press,) = talk.line.desk.presses
    assert (press.key, press.sender, press.action) == ("p1-card", talk.bob.id, "approve")
    assert talk.ana.messages(room, talk.bot)[-1].text.endswith("Allowed by bob.")


async def test_a_mark_is_taken_away_and_may_be_put_again(talk: Talk) -> None:
    async with talk.line.open() as channel:
        room = await talk.room()
        message = talk.ana.say(room, "Hello")
        for _ in range(2):
            await channel.react(room, message, "👀")
            await seen(lambda: talk.ana.reactions(room, message, talk.bot) == ["👀"])
            await channel.react(room, message, "")
            await seen(lambda: talk.ana.reactions(room, message, talk.bot) == [])


async def test_a_token_that_was_signed_out_is_said_and_a_place_that_is_unknown_is_begun_anew(talk: Talk) -> None:
    async with talk.line.open():
        room = await talk.room()
    (place,) = await talk.line.values.all("since/")
    await talk.line.values.put(f"since/{place}", "s_of_another_server")
    async with talk.line.open() as channel:
        events = [entry.event for entry in channel.log]
        talk.ana.say(room, "Hello")
        await talk.line.heard("Hello", seconds=PATIENCE)
        sign_out(talk.bot)
        await until(lambda: channel.connection.status == "refused", PATIENCE)
        error = channel.connection.error or ""

    assert "place_unknown" in events
    assert "M_UNKNOWN_TOKEN" in error
    assert talk.bot.token not in error


def sign_out(person: MatrixPerson) -> None:
    person.ask("POST", f"{API}/logout", {})
