"""Every method of the client, against the server: what goes in comes out as the same values."""

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
import pytest

from commonplace import AsyncClient, Note, Rule, Scope, Turn
from commonplace.errors import (
    CommonplaceError,
    Conflict,
    Forbidden,
    InvalidFile,
    InvalidImportance,
    InvalidInput,
    InvalidKey,
    InvalidQuery,
    InvalidScope,
    InvalidText,
    NothingToUndo,
    PathNotFound,
    RecordChanged,
    RecordNotFound,
    SecretRefused,
    StoreClosed,
    TextTooLarge,
    Unauthenticated,
    VersionNotFound,
)
from commonplace.testing.daemon import InProcess, served
from commonplace.values.audit import AuditQuery
from commonplace.values.record import Provenance

pytestmark = pytest.mark.anyio

THEN = datetime(2026, 3, 1, 9, 30, tzinfo=UTC)


# --- records


async def test_a_record_comes_out_as_it_went_in(client: AsyncClient) -> None:
    record = await client.put(
        "All of it",
        scope=Scope("workspace", "web"),
        key="all",
        kind="fact",
        source="auto",
        tags=["a", "b"],
        metadata={"owner": "ana", "empty": {}, "none": None},
        pinned=True,
        importance=80,
        trust="verified",
        visibility="shared",
        at=THEN,
        expires_at=datetime(2099, 1, 1),  # noqa: DTZ001 - a naive time is UTC
        session="s1",
        position=4,
        speaker="ana",
        run="r1",
        message="m1",
        file="notes.md",
        expected=0,
        reason="to see",
    )

    assert (record.scope, record.key, record.kind, record.source) == (Scope("workspace", "web"), "all", "fact", "auto")
    assert (record.tags, record.metadata) == (("a", "b"), {"owner": "ana", "empty": {}, "none": None})
    assert (record.pinned, record.importance, record.trust, record.visibility) == (True, 80, "verified", "shared")
    assert (record.at, record.expires_at) == (THEN, datetime(2099, 1, 1, tzinfo=UTC))
    assert (record.session, record.position, record.speaker) == ("s1", 4, "ana")
    assert (record.provenance, record.reason) == (Provenance(run="r1", message="m1", file="notes.md"), "to see")
    assert await client.get(record.id) == record


async def test_notes_and_turns_are_kept_in_order(client: AsyncClient) -> None:
    notes = await client.put_many([Note(text="one"), Note(text="two", key="k", pinned=False)])
    turns = await client.add_turns(
        "chat",
        [Turn(speaker="ana", text="Hello", at=THEN), Turn(speaker="bo", text="Hi")],
        scope="user:ana",
        tags="chat",
    )

    assert [record.text for record in notes] == ["one", "two"]
    assert [(record.speaker, record.position, record.tags) for record in turns] == [
        ("ana", 0, ("chat",)),
        ("bo", 1, ("chat",)),
    ]
    assert (await client.put_many([]), await client.add_turns("chat", [])) == ([], [])


async def test_a_record_goes_through_its_life(client: AsyncClient) -> None:
    id = (await client.put("First", key="k", tags=["t"], scope="session:s1")).id

    edited = await client.edit(id, text="Second", importance=5, clear=["key"], expected=1, reason="better")
    untagged = await client.edit(id, tags=[])
    pinned = await client.pin(id)
    unpinned = await client.pin(id, False)
    promoted = await client.promote(id, scope="workspace:web")
    demoted = await client.demote(id)
    undone = await client.undo(id)
    expired = await client.expire(id, datetime(2099, 1, 1, tzinfo=UTC))
    deleted = await client.delete(id, reason="gone")

    assert (edited.text, edited.importance, edited.key, edited.reason) == ("Second", 5, None, "better")
    assert (untagged.tags, pinned.pinned, unpinned.pinned) == ((), True, False)
    assert (str(promoted.scope), demoted.demoted, undone.demoted) == ("workspace:web", True, False)
    assert (expired.expires_at, deleted.reason) == (datetime(2099, 1, 1, tzinfo=UTC), "gone")
    assert [one.version for one in await client.history(id)] == list(range(1, 11))
    assert (await client.get(id, version=1)).text == "First"


async def test_a_successor_takes_the_place(client: AsyncClient) -> None:
    old = await client.put("Fridays", key="day", tags=["plan"])

    new = await client.supersede(old.id, "Mondays", importance=3)

    assert (new.key, new.tags, new.importance) == ("day", ("plan",), 3)
    assert (await client.get(old.id)).superseded_by == new.id


async def test_a_listing_is_narrowed_and_as_long_as_asked(client: AsyncClient) -> None:
    for _ in range(3):
        await client.put_many([Note(text=f"note {number}", kind="fact", tags=("t",)) for number in range(400)])
    await client.put("Something else")

    page = await client.list(kinds="fact", tags=["t"], limit=1100, order="oldest")
    rest = await client.list(kinds=["fact"], tags=["t"], limit=1100, order="oldest", cursor=page.cursor)

    assert (len(page.records), len(rest.records), rest.cursor) == (1100, 100, None)
    assert len({record.id for record in (*page.records, *rest.records)}) == 1200
    assert (await client.list(scopes=[])).records == ()


async def test_a_purge_removes_what_is_named(client: AsyncClient) -> None:
    ids = [(await client.put("one")).id, (await client.put("two", scope="user:ana")).id]

    by_id = await client.purge(ids=[ids[0]])
    by_scope = await client.purge(scope="user:ana")

    assert (by_id.records, by_scope.records) == (1, 1)
    assert (await client.stats()).records == 0


# --- recall


async def test_a_hit_says_why(client: AsyncClient) -> None:
    record = await client.put("We ship on Fridays", scope="workspace:web", at=THEN)
    await client.put("Ships in the harbour", scope="user:ana")

    hits = await client.search("when do we ship?", scopes="workspace:web", since=THEN, weights={"words": 1.0}, limit=3)

    [hit] = hits
    assert (hit.record, hit.passage, hit.why.words) == (record, "We ship on Fridays", ("ship",))
    assert sum(hit.why.parts.values()) == pytest.approx(hit.score)
    assert await client.search("ship", scopes=()) == []


async def test_a_block_for_a_prompt_has_its_records_and_hits(client: AsyncClient) -> None:
    record = await client.put("We ship on Fridays", scope="workspace:web", key="day")

    block = await client.context("when do we ship?", budget=300)
    sections = await client.sections(workspace="web")
    nothing = await client.sections()

    assert (block.records, [hit.record for hit in block.hits]) == ((record,), [record])
    assert (block.meta.used, 0 < block.tokens <= 300, "Fridays" in str(block)) == (True, True, True)
    assert "- **day**: We ship on Fridays" in sections.text
    assert nothing.text == ""


# --- files


async def test_an_export_is_loaded_elsewhere(client: AsyncClient, tmp_path: Path) -> None:
    record = await client.put("Zeile\u2028zwei 二", metadata={"a": 1})
    await client.edit(record.id, text="Second")
    stream = io.StringIO()
    seen: list[tuple[int, int]] = []

    to_file = await client.export(tmp_path / "memory.jsonl", progress=lambda done, total: seen.append((done, total)))
    to_stream = await client.export(stream, scopes="global")

    async with served(tmp_path / "other") as other:
        way = httpx.ASGITransport(app=other.app, client=("127.0.0.1", 50_000))
        headers = other.client.headers["Authorization"].removeprefix("Bearer ")
        async with AsyncClient("http://127.0.0.1:4170", headers, transport=way) as there:
            loaded = await there.load(tmp_path / "memory.jsonl")
            again = await there.load(io.StringIO(stream.getvalue()))
            versions = await there.history(record.id)

    assert (to_file, to_stream, loaded.created, again.unchanged) == (1, 1, 1, 1)
    assert versions == await client.history(record.id)
    assert seen[-1][0] >= 1


async def test_files_that_are_not_there_are_told(client: AsyncClient, tmp_path: Path) -> None:
    (tmp_path / "bad.jsonl").write_text("hello", encoding="utf-8")

    with pytest.raises(PathNotFound):
        await client.load(tmp_path / "missing.jsonl")
    with pytest.raises(PathNotFound):
        await client.export(tmp_path / "no" / "folder.jsonl")
    with pytest.raises(InvalidFile):
        await client.load(tmp_path / "bad.jsonl")
    with pytest.raises(InvalidInput):
        await client.export(io.StringIO(), scopes=[])
    with pytest.raises(InvalidInput):
        await client.backup(tmp_path / "backup.db")


# --- upkeep, who may, audit


async def test_upkeep_speaks_in_values(client: AsyncClient) -> None:
    await client.put_many([Note(text=f"note {number}", scope="session:s") for number in range(3)])
    rule = Rule(scope="session", max_age=timedelta(days=90), max_records=1)

    await client.set_rule(rule)
    rules = await client.rules()
    done = await client.tidy(purge_after=timedelta(days=30))
    log = await client.upkeep_log(since=THEN, limit=1)
    texts = await client.reindex()
    stats = await client.stats()

    assert (rules, log) == ([rule], done)
    assert [(one.action, one.records) for one in done] == [("evicted", 2)]
    assert (texts, stats.live, stats.deleted, stats.scopes[0].scope) == (3, 1, 2, Scope("session", "s"))
    assert any(finding.severity == "ok" for finding in await client.check())


async def test_keys_and_users_are_made_and_taken_away(client: AsyncClient, transport: httpx.ASGITransport) -> None:
    key, secret = await client.create_key(
        "ci", "reader", scopes=["workspace:web"], expires_at=datetime(2099, 1, 1, tzinfo=UTC)
    )
    async with AsyncClient("http://127.0.0.1:4170", secret, transport=transport) as reader:
        me = await reader.me()
        with pytest.raises(Forbidden):
            await reader.put("x", scope="workspace:web")
    user, first = await client.create_user("a/b..")
    _, second = await client.rotate_user("a/b..")

    assert (me.name, me.role, me.key) == ("ci", "reader", key.id)
    assert ([one.id for one in await client.keys()], [one.id for one in await client.users()]) == ([key.id], [user.id])
    assert first != second
    assert (await client.revoke_key(key.id)).revoked_at is not None
    await client.remove_user("a/b..")
    assert await client.users() == []


async def test_a_capability_is_issued_for_a_key(client: AsyncClient) -> None:
    key, _ = await client.create_key("bot", "reader")
    until = datetime.now(UTC) + timedelta(hours=2)

    plain = await client.create_capability("bot", "r-1")
    wide = await client.create_capability(
        key.id,
        "r-2",
        subject="bo",
        project="shop",
        read_tiers=["global"],
        promote_targets=["project"],
        expires_at=until,
    )

    assert plain.capability.startswith("cap_")
    assert (plain.key, plain.run, plain.project, plain.read_tiers) == (key.id, "r-1", "default", ("session", "project"))
    assert (wide.subject, wide.read_tiers, wide.promote_targets) == ("bo", ("global",), ("project",))
    assert abs(wide.expires_at - until) < timedelta(seconds=1)


async def test_the_audit_is_read_by_pages(client: AsyncClient) -> None:
    for text in ("one", "two", "three"):
        await client.put(text)

    first = await client.audit(AuditQuery(actions=("record.put",)), limit=2)
    rest = await client.audit(AuditQuery(actions=("record.put",)), limit=2, cursor=first.cursor)

    assert (len(first.rows), len(rest.rows), rest.cursor) == (2, 1, None)
    assert {row.action for row in (await client.audit()).rows} == {"record.put"}


# --- errors


@pytest.mark.parametrize(
    ("fields", "kind"),
    [
        ({"text": " "}, InvalidText),
        ({"text": "\ud800"}, InvalidInput),
        ({"text": "x" * (2 * 1024 * 1024 + 1)}, TextTooLarge),
        ({"text": "x", "scope": "nowhere"}, InvalidScope),
        ({"text": "x", "key": "k" * 256}, InvalidKey),
        ({"text": "x", "importance": 101}, InvalidImportance),
        ({"text": "x", "metadata": {"a": float("nan")}}, InvalidInput),
        ({"text": "x", "metadata": {"a": object()}}, InvalidInput),
        ({"text": "x", "key": "k", "expected": 3}, RecordChanged),
        ({"text": "-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----"}, SecretRefused),
    ],
)
async def test_an_error_is_of_the_same_class_as_without_a_daemon(
    client: AsyncClient, fields: dict[str, Any], kind: type[CommonplaceError]
) -> None:
    with pytest.raises(kind):
        await client.put(**fields)


async def test_what_is_not_there_is_told_by_its_own_error(client: AsyncClient) -> None:
    id = (await client.put("A")).id

    with pytest.raises(RecordNotFound):
        await client.get("01920000-0000-7000-8000-000000000000")
    for odd in ("", "..", "../keys", "nonsense", "a?b", "\0"):
        with pytest.raises(RecordNotFound):
            await client.get(odd)
    with pytest.raises(VersionNotFound):
        await client.get(id, version=7)
    with pytest.raises(NothingToUndo):
        await client.undo(id)
    with pytest.raises(RecordChanged) as refused:
        await client.edit(id, text="B", expected=7)
    with pytest.raises(InvalidQuery):
        await client.search(" ")
    with pytest.raises(InvalidQuery):
        await client.list(colour="red")  # pyright: ignore[reportCallIssue]
    with pytest.raises(InvalidInput):
        await client.edit(id, colour="red")  # pyright: ignore[reportCallIssue]

    assert (refused.value.code, refused.value.details["id"]) == ("record_changed", id)


async def test_a_wrong_token_opens_nothing(running: InProcess, transport: httpx.ASGITransport) -> None:
    async with AsyncClient("http://127.0.0.1:4170", "wrong", transport=transport) as stranger:
        with pytest.raises(Unauthenticated):
            await stranger.me()


async def test_a_tenant_and_a_client_id_go_with_every_request(
    transport: httpx.ASGITransport, client: AsyncClient
) -> None:
    token = "the-operator-token-of-the-tests"
    async with AsyncClient("http://127.0.0.1:4170", token, "acme/web", "pad-1", transport=transport) as acme:
        await acme.put("Theirs")
        me = await acme.me()

    assert (me.tenant, me.client) == ("acme/web", "pad-1")
    assert (await client.list()).records == ()


async def test_a_known_user_is_a_conflict(client: AsyncClient) -> None:
    await client.create_user("ana")

    with pytest.raises(Conflict):
        await client.create_user("ana")


async def test_a_closed_client_says_so(client: AsyncClient) -> None:
    await client.aclose()
    await client.aclose()

    with pytest.raises(StoreClosed):
        await client.stats()
