"""A daemon whose agent has an account at a real Synapse, and people who talk with it there."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx

from commonplace.testing.daemon import Daemon, running_daemon
from commonplace.testing.synapse import MatrixPerson, SentMessage, Synapse, wait_for
from commonplace.testing.vendor import Vendor

CHANNEL: Final = "matrix"
VARIABLE: Final = "MATRIX_TOKEN_OF_THE_TESTS"


@dataclass(slots=True)
class MatrixHouse:
    """`bot` is the agent's account; `http` shows the operator's token."""

    synapse: Synapse
    vendor: Vendor
    bot: MatrixPerson
    daemon: Daemon
    http: httpx.Client

    def ask(self, method: str, path: str, body: Any = None) -> Any:
        answer = self.http.request(method, path, json=body)
        assert answer.is_success, (path, answer.status_code, answer.text[:300])
        return answer.json() if answer.content else None

    def add_channel(self, **settings: Any) -> None:
        """Whoever means the agent is heard."""
        whole = {
            "group_policy": "open",
            "senders": "open",
            "options": {"homeserver": self.synapse.url},
            "secrets": {"token": VARIABLE},
            **settings,
        }
        self.ask("POST", "/v1/channels", {"name": CHANNEL, "kind": "matrix", "settings": whole})
        self.connected()

    def connected(self) -> None:
        wait_for(lambda: self.state["status"] == "connected")

    @property
    def state(self) -> dict[str, Any]:
        return self.ask("GET", f"/v1/channels/{CHANNEL}")["connection"]

    @property
    def log(self) -> list[dict[str, Any]]:
        return self.ask("GET", f"/v1/channels/{CHANNEL}/log")["entries"]

    def link(self, person: MatrixPerson, subject: str) -> None:
        self.ask("POST", "/v1/sender-links", {"identity": f"matrix:{person.id}", "subject": subject})

    def room(self, *people: MatrixPerson, name: str = "") -> str:
        """A room that the first makes, with all of them and the agent in it."""
        first, *others = people
        room = first.new_room(self.bot, *others, name=name)
        for person in others:
            person.join(room)
        wait_for(lambda: self.bot.id in first.members(room))
        return room

    def said(self, room: str) -> list[SentMessage]:
        """What the agent said in a room, as it is now."""
        return self.bot.messages(room, self.bot)

    def answers(self, room: str, event: str) -> list[SentMessage]:
        """What was answered to a message, without what is still being made and questions of tools."""
        messages = [message for message in self.said(room) if message.answers == event]
        return [message for message in messages if not message.text.endswith(" …") and "✅" not in message.text]

    def answer(self, room: str, event: str) -> str:
        return wait_for(lambda: self.answers(room, event))[0].text

    def tell(self, person: MatrixPerson, room: str, text: str) -> str:
        """Say something to the agent, and wait for what it answers."""
        return self.answer(room, person.say(room, text, to=self.bot))

    def card(self, room: str) -> SentMessage:
        """The last question of a tool."""
        return wait_for(lambda: [message for message in self.said(room) if "✅" in message.text])[-1]


@contextmanager
def matrix_house(
    synapse: Synapse, bot: MatrixPerson, home: Path, vendor: Vendor, env: Mapping[str, str]
) -> Generator[MatrixHouse]:
    """`env`: what the daemon's environment has besides."""
    environment = {
        "COMMONPLACE_LLM_MODEL": "openai:small",
        "COMMONPLACE_LLM_BASE_URL": vendor.url,
        "COMMONPLACE_LLM_API_KEY": "sk-test-0000",
        "COMMONPLACE_LLM_PRICE": "1/1",
        "COMMONPLACE_AGENT_LEARN": "false",
        VARIABLE: bot.token,
        **env,
    }
    with running_daemon(home, env=environment, patience=90.0) as daemon, daemon.client() as http:
        http.timeout = httpx.Timeout(60.0)
        yield MatrixHouse(synapse, vendor, bot, daemon, http)
