"""
The room as a whole, on a real Synapse and a real daemon: two people and one agent. Both are answered in order and by name, a tool asks the
room and a reaction allows it, what it is told to remember survives a daemon that is killed, what was asked meanwhile is answered once, and
another room knows nothing of it. It speaks by itself when a schedule is due, warns when much of its budget is gone, and declines when all is.
"""

from __future__ import annotations

from collections.abc import Callable, Generator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from commonplace.testing.matrix import CHANNEL, MatrixHouse, matrix_house
from commonplace.testing.synapse import MatrixPerson, Synapse, wait_for
from commonplace.testing.vendor import INPUT_TOKENS, Vendor, running_vendor, stream
from commonplace.values.schedule import room_target

PATIENCE = 60.0


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        yield begun


# Two real daemons, each of which loads what talks to models.
@pytest.mark.timeout(240)
def test_two_people_and_one_agent_share_a_matrix_room_through_a_kill(
    tmp_path: Path, synapse: Synapse, vendor: Vendor
) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    roots = {"COMMONPLACE_AGENT_ROOTS": str(work)}
    ana, bob, bot = (synapse.person(name) for name in ("ana", "bob", "assistant"))
    with matrix_house(synapse, bot, home, vendor, roots) as house:
        house.add_channel(folder=str(work))
        house.link(bob, "bob-lee")
        room, lunch = house.room(ana, bob, name="Releases"), house.room(ana, bob, name="Lunch")

        # Ana asks, and Bob does before she is answered.
        go_on = Event()
        vendor.replies = [held(go_on, "On Fridays, Ana."), stream("At noon, Bob.")]
        first = ana.say(room, "When do we ship?", to=bot)
        wait_for(lambda: vendor.requests)
        second = bob.say(room, "And when exactly?", to=bot)
        go_on.set()
        in_order = [house.answer(room, first), house.answer(room, second)]

        # A tool asks the room, and Bob's reaction allows what Ana wants.
        vendor.replies = [stream(calls=[("write_file", '{"path": "a.txt", "content": "x"}')]), stream("Written.")]
        wish = ana.say(room, "Write it down", to=bot)
        settled = allowed_by_reaction(house, room, bob)
        written = house.answer(room, wish)

        remembered = house.tell(ana, room, "/remember we ship on Fridays")
        late = [killed_while_asked(house, lambda: ana.say(room, "Who is on call?", to=bot))]

    # Bob asks when nobody is there.
    late.append(bob.say(room, "And who is next?", to=bot))
    vendor.replies = [stream("Cleo is on call."), stream("Dan is next.")]
    with matrix_house(synapse, bot, home, vendor, roots) as house:
        answered = [house.answer(room, message) for message in late]
        vendor.replies = [stream("Noted.")]
        known, elsewhere = house.tell(bob, room, "/recall"), house.tell(bob, lunch, "/recall")
        house.tell(bob, lunch, "When do we ship?")
        system = str(vendor.requests[-1]["messages"])
        audit = house.tell(ana, room, "/audit")
        counts = [len(house.answers(room, message)) for message in (first, second, wish, *late)]
        # The signs of what was done are gone.
        wait_for(lambda: not any(ana.reactions(room, message, bot) for message in (first, second, wish, *late)))
        posted = posted_by_itself(house, room)
        warnings, declined = spent(house, bob, lunch)

    assert in_order == ["On Fridays, Ana.", "At noon, Bob."]
    assert prompts(vendor)[:2] == ["[Ana] When do we ship?", "[Bob] And when exactly?"]
    assert (written, (work / "a.txt").read_text()) == ("Written.", "x")
    assert "bob-lee" in settled
    assert all("we ship on Fridays" in text for text in (remembered, known))
    assert answered == ["Cleo is on call.", "Dan is next."]
    assert elsewhere == "I remember nothing about this room yet."
    assert "Fridays" not in system
    assert "Bob: task.requested" in audit
    assert posted == '[Scheduled task "standup" set by operator]\nNothing is open.'
    assert next(text for text in warnings if "%" in text).startswith("This room has used 75 %")
    assert declined.startswith("What this room may spend is used up")
    # Whatever happened in between, each was answered once.
    assert counts == [1] * len(counts)


def allowed_by_reaction(house: MatrixHouse, room: str, person: MatrixPerson) -> str:
    """What the question of a tool says, after somebody has marked it."""
    card = house.card(room)
    # The marks to choose from are there.
    wait_for(lambda: len(person.reactions(room, card.id, house.bot)) == 3)
    person.react(room, card.id, "👍")
    return wait_for(lambda: [m for m in house.said(room) if m.id == card.id and len(m.texts) > 1])[0].text


def posted_by_itself(house: MatrixHouse, room: str) -> str:
    """What a schedule that comes due says, where nobody speaks."""
    house.vendor.replies = [stream("Nothing is open.")]
    due = (datetime.now(UTC) + timedelta(seconds=1)).isoformat()
    body = {"target": room_target(CHANNEL, room), "at": due, "prompt": "what is open?", "label": "standup"}
    house.ask("POST", "/v1/schedules", body)
    (message,) = wait_for(lambda: [message for message in house.said(room) if "Scheduled task" in message.text])
    return message.text


def spent(house: MatrixHouse, person: MatrixPerson, room: str) -> tuple[list[str], str]:
    """What a room is told of a budget of a dollar, of which each turn takes eighty cents; and what the third answer is."""
    house.ask("PATCH", f"/v1/channels/{CHANNEL}", {"settings": {"budget": {"usd": 1, "hours": 24}}})
    house.connected()
    reply = stream("Much.")
    body = reply.body.replace(f'"prompt_tokens": {INPUT_TOKENS}', '"prompt_tokens": 800000')
    house.vendor.replies = [type(reply)(body=body, headers=reply.headers)]
    house.tell(person, room, "What may we spend?")
    wait_for(lambda: any("%" in message.text for message in house.said(room)))
    house.tell(person, room, "And now?")
    declined = house.tell(person, room, "And still?")
    return [message.text for message in house.said(room)], declined


def killed_while_asked(house: MatrixHouse, ask: Callable[[], str]) -> str:
    """The message that was with the model when the daemon was killed."""
    never, count = Event(), len(house.vendor.requests)
    house.vendor.replies = [held(never, "Never said.")]
    message = ask()
    wait_for(lambda: len(house.vendor.requests) > count)
    house.daemon.process.kill()
    house.daemon.process.wait(PATIENCE)
    never.set()
    return message


def prompts(vendor: Vendor) -> list[str]:
    """What each request ends with, without the answers of tools."""
    texts = [request["messages"][-1] for request in vendor.requests]
    return [text["content"] for text in texts if text["role"] == "user"]


def held(until: Event, text: str) -> Any:
    """A reply that comes when it is told to."""
    reply = stream(text)
    return type(reply)(body=reply.body, headers=reply.headers, until=until)
