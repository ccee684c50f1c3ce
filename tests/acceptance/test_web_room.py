"""
The room as a whole, on a real daemon: two people and one agent. They are answered in order and by name, a tool asks the room, what it is told
to remember survives a daemon that is killed, what was asked is answered once all the same, and another room knows nothing of it. A schedule fires
while nobody speaks, the budget warns and then declines, and the audit names who asked.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Generator
from contextlib import ExitStack
from pathlib import Path
from threading import Event
from typing import Any

import httpx
import pytest

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.vendor import INPUT_TOKENS, OUTPUT_TOKENS, Vendor, running_vendor, stream

PATIENCE = 60.0
USED = INPUT_TOKENS + OUTPUT_TOKENS
"""What a turn of the scripted model takes."""


_open = ExitStack()


@pytest.fixture(autouse=True)
def no_client_stays_open() -> Generator[None]:
    with _open:
        yield


@pytest.fixture
def vendor() -> Generator[Vendor]:
    with running_vendor() as begun:
        yield begun


class Person:
    """Somebody with a key at one daemon."""

    def __init__(self, daemon: Daemon, secret: str) -> None:
        headers = {"Authorization": f"Bearer {secret}"}
        self.http = _open.enter_context(httpx.Client(base_url=daemon.url, headers=headers, timeout=PATIENCE))
        self.secret = secret

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.http.request(method, path, json=body)
        assert answer.is_success, (path, answer.status_code, answer.text[:300])
        return answer.json() if answer.content else None

    def say(self, room: str, text: str) -> str:
        body = {"text": text, "mention": True}
        return self.ask("POST", f"/v1/channels/web/rooms/{room}/messages", body)["id"]

    def messages(self, room: str) -> list[dict[str, Any]]:
        return self.ask("GET", f"/v1/channels/web/rooms/{room}/messages?limit=500")["messages"]

    def answers(self, room: str, message: str) -> list[str]:
        """What was answered to a message, questions of tools left out."""
        found = [m for m in self.messages(room) if m["data"].get("reply_to") == message and "card" not in m["data"]]
        return [one["text"] for one in found if not one["text"].endswith(" …")]

    def answer(self, room: str, message: str) -> str:
        return wait_for(lambda: self.answers(room, message))[0]

    def tell(self, room: str, text: str) -> str:
        return self.answer(room, self.say(room, text))


def wait_for(look: Callable[[], Any]) -> Any:
    deadline = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < deadline, "It did not come."
        time.sleep(0.05)
    return found


def prompts(vendor: Vendor) -> list[str]:
    """What each request ends with, without the answers of tools."""
    texts = [request["messages"][-1] for request in vendor.requests]
    return [text["content"] for text in texts if text["role"] == "user"]


# Two real daemons, each of which loads what talks to models.
@pytest.mark.timeout(240)
def test_two_people_and_one_agent_share_a_room_through_a_kill(tmp_path: Path, vendor: Vendor) -> None:
    home, work = tmp_path / "home", tmp_path / "work"
    work.mkdir()
    environment = settings_of(vendor, work)
    with running_daemon(home, env=environment, patience=90.0) as daemon:
        ana, bob = two_rooms(daemon, work)

        # Ana asks, and Bob does before she is answered.
        go_on = Event()
        vendor.replies = [held(go_on, "On Fridays, Ana."), stream("At noon, Bob.")]
        first, second = ana.say("releases", "When do we ship?"), bob.say("releases", "And when exactly?")
        wait_for(lambda: vendor.requests)
        go_on.set()
        in_order = [bob.answer("releases", first), ana.answer("releases", second)]

        # A tool asks the room, and Bob allows what Ana wants.
        vendor.replies = [stream(calls=[("write_file", '{"path": "a.txt", "content": "x"}')]), stream("Written.")]
        wish = ana.say("releases", "Write it down")
        card = wait_for(lambda: [m for m in bob.messages("releases") if "card" in m["data"]])[0]
        bob.say("releases", "/approve")
        written = ana.answer("releases", wish)

        remembered = ana.tell("releases", "/remember we ship on Fridays")
        # The daemon is killed while Ana's question is with the model, and Bob's waits.
        never = Event()
        vendor.replies = [held(never, "Never said.")]
        count = len(vendor.requests)
        late = [ana.say("releases", "Who is on call?"), bob.say("releases", "And who is next?")]
        wait_for(lambda: len(vendor.requests) > count)
        daemon.process.kill()
        daemon.process.wait(PATIENCE)
        never.set()

    assert in_order == ["On Fridays, Ana.", "At noon, Bob."]
    assert prompts(vendor)[:2] == ["[ana] When do we ship?", "[bob] And when exactly?"]
    assert (card["data"]["card"]["asker"], written, (work / "a.txt").read_text()) == ("ana", "Written.", "x")
    assert "we ship on Fridays" in remembered

    vendor.replies = [stream("Cleo is on call."), stream("Dan is next.")]
    with running_daemon(home, env=environment, patience=90.0) as daemon:
        ana, bob = (Person(daemon, person.secret) for person in (ana, bob))
        answered = [ana.answer("releases", late[0]), bob.answer("releases", late[1])]
        vendor.replies = [stream("Noted.")]
        known, elsewhere = bob.tell("releases", "/recall"), bob.tell("lunch", "/recall")
        bob.tell("lunch", "When do we ship?")
        system = str(vendor.requests[-1]["messages"])
        fires_by_itself(ana, bob, vendor)
        warns_and_declines(Person(daemon, daemon.token), ana, bob, vendor)
        audit = ana.tell("releases", "/audit")
        counts = [len(ana.answers("releases", message)) for message in (first, second, wish, *late)]

    assert answered == ["Cleo is on call.", "Dan is next."]
    assert "we ship on Fridays — ana" in known
    assert elsewhere == "I remember nothing about this room yet."
    assert "Fridays" not in system
    assert "bob: task.requested" in audit
    for line in ("ana: schedule.fire", "ana: room.budget (budget_exhausted)"):
        assert line in audit
    # Whatever happened in between, each was answered once.
    assert counts == [1] * len(counts)


def fires_by_itself(ana: Person, bob: Person, vendor: Vendor) -> None:
    """A schedule fires into a room where nobody says anything."""
    vendor.replies = [stream("Three questions are open.")]
    body = {"target": "channel/web/releases", "cron": "0 0 1 1 *", "prompt": "post the open questions"}
    schedule = ana.ask("POST", "/v1/schedules", body)

    ana.ask("POST", f"/v1/schedules/{schedule['id']}/run")
    post = wait_for(lambda: posted(bob, "releases", "[Scheduled task"))

    assert post.splitlines() == [
        '[Scheduled task "post the open questions" set by ana]',
        "Three questions are open.",
    ]


def warns_and_declines(operator: Person, ana: Person, bob: Person, vendor: Vendor) -> None:
    """The budget warns, and then declines; what has begun is finished, and another room is served."""
    vendor.replies = [stream("Noted.")]
    operator.ask("PATCH", "/v1/channels/web", {"settings": {"budget": {"tokens": USED * 5 // 4}}})

    within = ana.tell("releases", "One more?")
    wait_for(lambda: posted(bob, "releases", "This room has used 75 %"))
    last, beyond = bob.tell("releases", "And another?"), ana.tell("releases", "And yet another?")
    shown, elsewhere = bob.tell("releases", "/budget"), ana.tell("lunch", "Still there?")

    assert [within, last, elsewhere] == ["Noted."] * 3
    assert beyond.startswith("What this room may spend is used up")
    assert shown.startswith(f"Tokens: {2 * USED} of ")


def posted(person: Person, room: str, beginning: str) -> str | None:
    """What the agent or the room said so by itself."""
    texts = [message["text"] for message in person.messages(room) if message["author"] != "person"]
    return next((text for text in texts if text.startswith(beginning)), None)


def settings_of(vendor: Vendor, work: Path) -> dict[str, str]:
    return {
        "COMMONPLACE_LLM_MODEL": "openai:small",
        "COMMONPLACE_LLM_BASE_URL": vendor.url,
        "COMMONPLACE_LLM_API_KEY": "sk-test-0000",
        "COMMONPLACE_LLM_PRICE": "1/1",
        "COMMONPLACE_AGENT_ROOTS": str(work),
        "COMMONPLACE_AGENT_LEARN": "false",
    }


def two_rooms(daemon: Daemon, work: Path) -> tuple[Person, Person]:
    """Ana and Bob, both in the rooms `releases` and `lunch`, whose agent works in the folder."""
    operator = Person(daemon, daemon.token)
    operator.ask("PATCH", "/v1/channels/web", {"settings": {"folder": str(work)}})
    ana, bob = (Person(daemon, new_key(operator, name)) for name in ("ana", "bob"))
    for room in ("releases", "lunch"):
        ana.ask("POST", "/v1/channels/web/rooms", {"title": room.title(), "id": room})
        ana.ask("POST", "/v1/members", {"scope": f"channel:web/{room}", "subject": "bob"})
    return ana, bob


def new_key(operator: Person, name: str) -> str:
    return operator.ask("POST", "/v1/keys", {"name": name, "role": "writer", "user": name})["secret"]


def held(until: Event, text: str) -> Any:
    """A reply that comes when it is told to."""
    reply = stream(text)
    return type(reply)(body=reply.body, headers=reply.headers, until=until)
