"""What a job is queued with comes back as it was, and what the release before this one queued is still read and run."""

import asyncio
import json
from collections.abc import AsyncGenerator, Iterator
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

import pytest

from commonplace.compose.work import queues_of
from commonplace.errors import InvalidInput
from commonplace.jobs.payloads import (
    DREAM_PAYLOAD,
    FORGET_PAYLOAD,
    IMPORT_PAYLOAD,
    NO_PAYLOAD,
    REMEMBER_PAYLOAD,
    TALK_PAYLOAD,
    DreamOptions,
    DreamPayload,
    ExtractPayload,
    FlushPayload,
    ForgetPayload,
    ImportFilesPayload,
    ImportFolderPayload,
    Nothing,
    PayloadFormat,
    PrivateFiles,
    PrivateText,
    PrivateTurn,
    PrivateTurns,
    RememberOptions,
    RememberPayload,
    Requester,
)
from commonplace.jobs.worker import Worker
from commonplace.ports.journal import Entries
from commonplace.settings import load_settings
from commonplace.testing.daemon import InProcess, served
from commonplace.values.job import Job, NewJob
from commonplace.values.moment import new_id
from commonplace.values.principal import Principal, ScopePattern
from commonplace.values.record import Turn
from commonplace.values.scope import DEFAULT_TENANT, Scope
from commonplace.values.transfer import SentFile

# As they stood in the store of the release before, but for the folder.
FOLDER = "/srv/web"
ANA = (
    '{"subject":"ana","role":"writer","scopes":["workspace:*","user:ana","agent:a","global"],"operator":false,"key":"k-1",'
    '"client":"cli:1","address":null,"door":"qwen","request":null}'
)
OPERATOR = (
    '{"subject":"operator","role":"admin","scopes":null,"operator":true,"key":null,"client":null,"address":"127.0.0.1",'
    '"door":"native","request":"r-1"}'
)
STORED = {
    "import folder": ('{"path":"/srv/web","scope":"workspace:web","layout":"directory","sync_deletes":true,"who":WHO}'),
    "import files": (
        '{"scope":"workspace:web","layout":"directory","private":{"files":[{"path":"notes/a.md","text":"We ship on '
        'Fridays. 世界"}],"problems":[["b.bin","not one of .markdown, .md, .mdx, .txt"]]},"who":WHO}'
    ),
    "extract": (
        '{"private":{"turns":[{"speaker":"ana","text":"We deploy on Mondays.","at":"2026-01-02T03:04:05.678901+00:00",'
        '"message":"m-1","role":"user","sender_name":"Ana"},{"speaker":"bot","text":"Noted.","at":null,"message":null,'
        '"role":null,"sender_name":null}]},"session":"s-1","agents":["a"],"workspace":"web","target":"user:ana","run":'
        '"r-7","recalled":["id-1"],"at":"2026-01-02T00:00:00+00:00","scope":"agent:a","who":WHO}'
    ),
    "extract session": (
        '{"private":{"turns":[]},"session":"s-1","agents":[],"workspace":null,"target":"global","run":null,"recalled":[],'
        '"at":null,"scope":"global","who":WHO}'
    ),
    "flush": '{"flush":"s-2","scope":"user:ana","who":WHO}',
    "remember": (
        '{"who":WHO,"workspace":"/srv/web","local":false,"roots":["project"],"target":"project","scope":"workspace:web",'
        '"shown":{"context_mode":"workspace"},"private":{"text":"We ship on Fridays"}}'
    ),
    "remember anywhere": (
        '{"who":WHO,"workspace":"/srv/web","local":false,"roots":["user","project"],"target":null,"scope":null,"shown":'
        '{"context_mode":"clean"},"private":{"text":"I like tea"}}'
    ),
    "forget": (
        '{"who":WHO,"workspace":"/srv/web","local":false,"roots":["user","project"],"target":null,"scope":null,"shown":{},'
        '"private":{"text":"tea"}}'
    ),
    "dream": (
        '{"who":WHO,"workspace":"/srv/web","local":false,"roots":["user","project"],"target":null,"scope":null,"shown":'
        '{"session":"s-9"},"private":{}}'
    ),
    "upkeep": "{}",
}
KINDS = {"flush": "extract"}


def kind_of(name: str) -> str:
    return KINDS.get(name, name.partition(" ")[0])


def stored(name: str, who: str = ANA) -> dict[str, Any]:
    return json.loads(STORED[name].replace("WHO", who))


PATTERNS = tuple(ScopePattern(pattern) for pattern in ("workspace:*", "user:ana", "agent:a", "global"))
REQUESTER = Requester(subject="ana", role="writer", scopes=PATTERNS, key="k-1", client="cli:1", door="qwen")
WEB = Scope("workspace", "web")
BOTH: tuple[Literal["user"], Literal["project"]] = ("user", "project")
TURNS = (
    PrivateTurn(
        speaker="ana",
        text="We deploy on Mondays.",
        at=datetime(2026, 1, 2, 3, 4, 5, 678901, tzinfo=UTC),
        message="m-1",
        role="user",
        sender_name="Ana",
    ),
    PrivateTurn(speaker="bot", text="Noted."),
)
PAYLOADS: dict[str, tuple[PayloadFormat[Any], object]] = {
    "import folder": (
        IMPORT_PAYLOAD,
        ImportFolderPayload(who=REQUESTER, scope=WEB, layout="directory", path=FOLDER, sync_deletes=True),
    ),
    "import files": (
        IMPORT_PAYLOAD,
        ImportFilesPayload(
            who=REQUESTER,
            scope=WEB,
            layout="directory",
            private=PrivateFiles(
                files=(SentFile(path="notes/a.md", text="We ship on Fridays. 世界"),),
                problems=(("b.bin", "not one of .markdown, .md, .mdx, .txt"),),
            ),
        ),
    ),
    "extract": (
        TALK_PAYLOAD,
        ExtractPayload(
            who=REQUESTER,
            scope=Scope("agent", "a"),
            agents=("a",),
            session="s-1",
            workspace="web",
            target=Scope("user", "ana"),
            run="r-7",
            recalled=("id-1",),
            at=datetime(2026, 1, 2, tzinfo=UTC),
            private=PrivateTurns(turns=TURNS),
        ),
    ),
    "extract session": (
        TALK_PAYLOAD,
        ExtractPayload(who=REQUESTER, scope=Scope("global"), agents=(), session="s-1", target=Scope("global")),
    ),
    "flush": (TALK_PAYLOAD, FlushPayload(who=REQUESTER, scope=Scope("user", "ana"), flush="s-2")),
    "remember": (
        REMEMBER_PAYLOAD,
        RememberPayload(
            who=REQUESTER,
            workspace=FOLDER,
            roots=("project",),
            target="project",
            scope=WEB,
            shown=RememberOptions(),
            private=PrivateText(text="We ship on Fridays"),
        ),
    ),
    "remember anywhere": (
        REMEMBER_PAYLOAD,
        RememberPayload(
            who=REQUESTER,
            workspace=FOLDER,
            roots=BOTH,
            shown=RememberOptions(context_mode="clean"),
            private=PrivateText(text="I like tea"),
        ),
    ),
    "forget": (
        FORGET_PAYLOAD,
        ForgetPayload(who=REQUESTER, workspace=FOLDER, roots=BOTH, private=PrivateText(text="tea")),
    ),
    "dream": (
        DREAM_PAYLOAD,
        DreamPayload(who=REQUESTER, workspace=FOLDER, roots=BOTH, shown=DreamOptions(session="s-9")),
    ),
    "upkeep": (NO_PAYLOAD, Nothing()),
}


@pytest.mark.parametrize("name", STORED)
def test_what_the_release_before_queued_is_read(name: str) -> None:
    payload_format, payload = PAYLOADS[name]

    assert payload_format.read(stored(name)) == payload


@pytest.mark.parametrize("name", STORED)
def test_a_payload_comes_back_as_it_was_and_has_the_fields_that_the_release_before_reads(name: str) -> None:
    payload_format, payload = PAYLOADS[name]

    written = json.loads(json.dumps(payload_format.write(payload)))

    assert payload_format.read(written) == payload
    assert set(_fields(stored(name))) <= set(_fields(written))


def _fields(value: Any, path: str = "") -> Iterator[str]:
    """The paths of all fields, however deep."""
    yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType, reportUnknownArgumentType] - JSON
    for name, item in items:  # pyright: ignore[reportUnknownVariableType] - as above
        yield from _fields(item, f"{path}/{name}")


def test_a_field_that_a_later_release_added_is_ignored() -> None:
    payload = stored("flush") | {"colour": "red"}

    assert TALK_PAYLOAD.read(payload) == PAYLOADS["flush"][1]


def test_what_was_said_is_gone_when_the_job_is_done_and_the_rest_can_still_be_read() -> None:
    payload = stored("remember")
    del payload["private"]

    assert REMEMBER_PAYLOAD.read(payload).private == PrivateText()


@pytest.mark.parametrize(
    ("payload_format", "change"),
    [
        (IMPORT_PAYLOAD, {"layout": "no layout"}),
        (IMPORT_PAYLOAD, {"scope": "nowhere:x"}),
        (IMPORT_PAYLOAD, {"who": {"subject": "ana", "role": "king"}}),
        (IMPORT_PAYLOAD, {"who": {"subject": "ana", "role": "writer", "scopes": ["no pattern"]}}),
        (TALK_PAYLOAD, {"scope": "workspace:web"}),
        (REMEMBER_PAYLOAD, {}),
    ],
)
def test_what_is_no_payload_of_the_kind_is_refused(payload_format: PayloadFormat[Any], change: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        payload_format.read(stored("import folder") | change)


@pytest.mark.parametrize("role", ["user", 7, ["a", {"b": None}], None])
def test_whatever_stands_in_the_metadata_of_a_turn_comes_back(role: Any) -> None:
    metadata = {} if role is None else {"role": role}
    turn = Turn(speaker="ana", text="Hello", metadata={**metadata, "colour": "red"})
    payload = ExtractPayload(who=REQUESTER, scope=WEB, agents=(), private=PrivateTurns(turns=(PrivateTurn.of(turn),)))

    read = TALK_PAYLOAD.read(json.loads(json.dumps(TALK_PAYLOAD.write(payload))))

    assert isinstance(read, ExtractPayload)
    assert [turn.turn() for turn in read.private.turns] == [replace(turn, metadata=metadata)]


def test_whoever_queued_a_job_is_the_same_when_it_runs() -> None:
    who = Principal(
        subject="local",
        tenant="acme/web",
        role="reviewer",
        name="ana",
        agent=True,
        scopes=PATTERNS,
        operator=True,
        key="k-1",
        client="cli:1",
        address="127.0.0.1",
        door="qwen",
        request="r-1",
    )

    assert Requester.of(who).principal("acme/web") == who


# ---- in a daemon


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "web"
    folder.mkdir()
    (folder / "note.md").write_text("The build takes nine minutes.", encoding="utf-8")
    return folder


@pytest.fixture
async def running(tmp_path: Path, workspace: Path) -> AsyncGenerator[InProcess]:
    async with served(tmp_path / "home", workspace=workspace) as running:
        turns = [{"speaker": "ana", "text": "I live in Rome."}]
        body = {"session": "s-2", "scope": "user:ana", "turns": turns}
        (await running.client.post("/v1/turns", json=body)).raise_for_status()
        yield running


async def ended(running: InProcess, name: str, payload: dict[str, Any]) -> Job:
    """The job, once a worker has run it as a daemon does."""
    store, clock = running.services.desk.store, running.services.desk.clock
    now = clock.now()
    kind = kind_of(name)
    job = NewJob(id=new_id(now), tenant=DEFAULT_TENANT, kind=kind, payload=payload, created_at=now, created_by="ana")
    await store.journal.note(Entries(jobs=(job,)))
    queue = replace(queues_of(running.services, load_settings())[kind], every=None)
    working = asyncio.create_task(Worker(store, clock, {kind: queue}, look_every=0.02).run())
    try:
        async with asyncio.timeout(5):
            while not (state := await store.jobs.job(DEFAULT_TENANT, job.id)).is_over:  # noqa: ASYNC110 - a store rings no bell for a job
                await asyncio.sleep(0.01)
    finally:
        working.cancel()
        await asyncio.wait({working})
    return state


@pytest.mark.anyio
@pytest.mark.parametrize("name", STORED)
async def test_a_job_that_the_release_before_queued_is_run(running: InProcess, workspace: Path, name: str) -> None:
    payload = json.loads(json.dumps(stored(name, OPERATOR)).replace(FOLDER, str(workspace)))

    job = await ended(running, name, payload)

    assert (job.state, job.error_code) == ("done", None)
    if kind_of(name) in ("remember", "forget", "dream"):
        task = await running.client.get(f"/workspace/memory/{kind_of(name)}/{job.id}")
        assert task.json()["status"] == "completed"
