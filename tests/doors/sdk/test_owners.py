"""A client asks another daemon for a session which that one leads, and shows its key to no host that nobody named."""

import httpx
import pytest

from commonplace import AsyncClient, Client
from commonplace.values.session_lease import SessionElsewhere

pytestmark = pytest.mark.anyio

OURS = "http://one.example:4170"
TICKET = {"run": "r1", "before": 0, "last_event": 0}


class Daemons:
    """`one.example` says that `owner` leads every session; all others lead them. `asked` are the requests, with their keys."""

    def __init__(self, owner: str) -> None:
        self.owner = owner
        self.asked: list[tuple[str, str | None]] = []

    def __call__(self, request: httpx.Request) -> httpx.Response:
        place = f"{request.url.scheme}://{request.url.netloc.decode()}"
        self.asked.append((place, request.headers.get("authorization")))
        if place != OURS:
            return httpx.Response(202, json=TICKET)
        error = {"code": "session_elsewhere", "message": "Elsewhere.", "details": {"owner": self.owner}}
        return httpx.Response(421, json={"error": error}, headers={"X-Commonplace-Owner": self.owner})


def client(daemons: Daemons, *owners: str) -> AsyncClient:
    return AsyncClient(", ".join((OURS, *owners)), token="secret", transport=httpx.MockTransport(daemons))


@pytest.mark.parametrize(
    ("owner", "owners"),
    [
        ("http://one.example:4171", ()),
        ("http://two.example:4170", ("http://two.example:4170",)),
        ("https://two.example", ("https://other.example", "https://two.example")),
    ],
)
async def test_a_session_is_asked_for_where_it_is_led(owner: str, owners: tuple[str, ...]) -> None:
    daemons = Daemons(owner)

    async with client(daemons, *owners) as daemon:
        ticket = await daemon.say("s1", "Hello?")

    assert ticket.run == "r1"
    assert daemons.asked == [(OURS, "Bearer secret"), (owner, "Bearer secret")]


@pytest.mark.parametrize(
    ("owner", "owners"),
    [
        ("http://two.example:4170", ()),
        ("http://two.example:4170", ("http://two.example:4171", "http://three.example:4170")),
        ("https://one.example:4170", ()),
        ("http://one.example:4171@two.example", ()),
        ("http://ana:secret@one.example:4171", ()),
        ("ftp://one.example", ()),
        ("nonsense", ()),
        ("http://one.example:x", ()),
    ],
)
async def test_no_key_goes_to_a_host_that_nobody_named(owner: str, owners: tuple[str, ...]) -> None:
    daemons = Daemons(owner)

    async with client(daemons, *owners) as daemon:
        with pytest.raises(SessionElsewhere) as refused:
            await daemon.say("s1", "Hello?")

    assert refused.value.details["owner"] == owner
    assert [place for place, _ in daemons.asked] == [OURS]


async def test_of_two_daemons_that_name_each_other_each_is_asked_once() -> None:
    daemons = Daemons(OURS)

    async with client(daemons) as daemon:
        with pytest.raises(SessionElsewhere):
            await daemon.say("s1", "Hello?")

    assert len(daemons.asked) == 2


async def test_whoever_listens_is_told_by_the_daemon_that_leads_the_session() -> None:
    frame = b'id: 1\nevent: text\ndata: {"id":1,"v":1,"type":"text","at":"2026-01-01T00:00:00Z","data":{"type":"text","text":"Hi"}}\n\n'
    daemons = Daemons("http://one.example:4171")

    def answer(request: httpx.Request) -> httpx.Response:
        told = daemons(request)
        return told if told.status_code == 421 else httpx.Response(200, content=frame, headers=STREAM)

    async with AsyncClient(OURS, token="secret", transport=httpx.MockTransport(answer)) as daemon:
        heard = await anext(aiter(daemon.hear("s1")))

    assert heard.event.type == "text"
    assert [place for place, _ in daemons.asked] == [OURS, "http://one.example:4171"]


def test_a_client_without_an_event_loop_does_so_too() -> None:
    daemons = Daemons("http://one.example:4171")

    with Client(OURS, token="secret", transport=httpx.MockTransport(daemons)) as daemon:
        ticket = daemon.say("s1", "Hello?")

    assert ticket.run == "r1"


STREAM = {"Content-Type": "text/event-stream"}
