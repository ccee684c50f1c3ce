"""Who may reach what: roles, scope patterns, tenants."""

from uuid import UUID

import pytest

from commonplace.errors import Forbidden, InvalidInput, RecordNotFound, VersionNotFound
from commonplace.service.desk import Desk
from commonplace.service.recall import Recalling
from commonplace.service.records import Records
from commonplace.service.transfer import Moving
from commonplace.testing.callers import caller
from commonplace.testing.clock import FakeClock
from commonplace.testing.drafts import Drafting
from commonplace.values.context import ContextQuery
from commonplace.values.note import Note
from commonplace.values.principal import ScopePattern
from commonplace.values.query import Filter, Query
from commonplace.values.scope import Scope

pytestmark = pytest.mark.anyio

WRITER, OWNER = caller("writer"), caller("admin", name="local")
SHARED = {"workspace:web", "workspace:api", "agent:bo", "global"}
SCOPES = ("workspace:web", "workspace:api", "user:ana", "session:7", "agent:bo", "channel:d/1", "global")


async def put_everywhere(records: Records) -> None:
    await records.put(OWNER, [Note(text=f"lantern {scope}", scope=scope) for scope in SCOPES])


@pytest.mark.parametrize(
    ("patterns", "reached"),
    [
        (("workspace:web",), {"workspace:web"}),
        (("workspace:*",), {"workspace:web", "workspace:api"}),
        (("workspace:w*", "global"), {"workspace:web", "global"}),
        (("user:ana", "user:nobody"), {"user:ana"}),
        (("session:7", "channel:d/*"), {"session:7", "channel:d/1"}),
        (("user:*", "session:*", "global"), {"global"}),
        (("*",), SHARED),
        ((), SHARED),
    ],
)
async def test_a_question_that_names_no_scope_reads_those_in_reach(
    records: Records, recalling: Recalling, patterns: tuple[str, ...], reached: set[str]
) -> None:
    await put_everywhere(records)
    who = caller("reader", *patterns)

    hits = await recalling.search(who, Query(text="lantern", limit=20))
    listed = await records.list(who, Filter())
    block = await recalling.context(who, ContextQuery(text="lantern"))

    assert {str(hit.record.scope) for hit in hits} == reached
    assert {str(record.scope) for record in listed.records} == reached
    assert {str(record.scope) for record in block.records} == reached


async def test_a_scope_that_is_named_and_out_of_reach_is_refused(records: Records, recalling: Recalling) -> None:
    await put_everywhere(records)
    who, api = caller("writer", "workspace:web"), Scope("workspace", "api")

    for refused in (
        recalling.search(who, Query(text="lantern", filter=Filter(scopes=(api,)))),
        recalling.context(who, ContextQuery(text="lantern", filter=Filter(scopes=(api,)))),
        recalling.sections(who, workspace="api"),
        records.list(who, Filter(scopes=(api,))),
        records.put(who, [Note(text="in", scope="workspace:web"), Note(text="out", scope=api)]),
    ):
        with pytest.raises(Forbidden):
            await refused

    assert (await records.list(who, Filter())).records[0].text == "lantern workspace:web"


async def test_another_tenant_is_another_world(records: Records, recalling: Recalling) -> None:
    [written] = await records.put(WRITER, [Note(text="lantern", scope="global", key="k")])
    stranger = caller("admin", tenant="other/place")

    with pytest.raises(RecordNotFound):
        await records.get(stranger, written.record.id)
    assert await recalling.search(stranger, Query(text="lantern")) == []
    assert (await records.list(stranger, Filter())).records == ()
    with pytest.raises(RecordNotFound):
        await records.delete(stranger, written.record.id)


@pytest.mark.parametrize("verb", ["edit", "pin", "delete", "undo", "demote", "expire", "supersede", "promote", "purge"])
async def test_a_reader_changes_nothing(records: Records, verb: str) -> None:
    [written] = await records.put(WRITER, [Note(text="lantern", scope="global")])
    who, id = caller("reader"), written.record.id
    calls = {
        "edit": lambda: records.edit(who, id, {"text": "dark"}),
        "pin": lambda: records.pin(who, id, True),
        "delete": lambda: records.delete(who, id),
        "undo": lambda: records.undo(who, id),
        "demote": lambda: records.demote(who, id),
        "expire": lambda: records.expire(who, id, None),
        "supersede": lambda: records.supersede(who, id, "dark", {}),
        "promote": lambda: records.promote(who, id),
        "purge": lambda: records.purge(who, ids=[id]),
    }

    with pytest.raises(Forbidden):
        await calls[verb]()

    assert await records.get(who, id) == written.record


async def test_a_writer_neither_promotes_nor_purges_nor_approves(records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="lantern", scope="session:7")])

    for refused in (
        records.promote(WRITER, written.record.id, scope=Scope("workspace", "web")),
        records.purge(WRITER, scope=Scope("session", "7")),
        records.put(WRITER, [Note(text="trust me", trust="human_approved")]),
        records.edit(WRITER, written.record.id, {"trust": "verified"}),
    ):
        with pytest.raises(Forbidden):
            await refused


async def test_versions_from_a_scope_out_of_reach_stay_hidden(desk: Desk, records: Records) -> None:
    ana = caller("reviewer", name="ana")
    [written] = await records.put(ana, [Note(text="a private draft", scope="user:ana")])
    await records.edit(ana, written.record.id, {"text": "lantern"})
    await records.promote(caller("admin"), written.record.id, scope=Scope("workspace", "web"))
    who, id = caller("writer", "workspace:web"), written.record.id

    seen = await records.history(who, id)
    exported = "".join([line async for line in Moving(desk).export(who)])

    assert [(version.version, version.text) for version in seen] == [(3, "lantern")]
    assert "private draft" not in exported
    assert "lantern" in exported
    with pytest.raises(VersionNotFound):
        await records.get(who, id, version=1)
    with pytest.raises(Forbidden):
        await records.undo(who, id)


async def test_a_key_cannot_move_a_record_out_of_its_reach(records: Records) -> None:
    [written] = await records.put(WRITER, [Note(text="lantern", scope="workspace:web")])
    who = caller("reviewer", "workspace:web")

    with pytest.raises(Forbidden):
        await records.promote(who, written.record.id, scope=Scope("global"))
    with pytest.raises(Forbidden):
        await records.supersede(who, written.record.id, "lantern", {"scope": "user:ana"})


@pytest.mark.parametrize(
    "written", ["", "workspace", "workspace:", "team:web", "workspace:*x", "workspace:a*b*", "*:*"]
)
def test_what_is_no_pattern_is_refused(written: str) -> None:
    with pytest.raises(InvalidInput):
        ScopePattern(written)


@pytest.mark.parametrize("pattern", ["workspace:web", "workspace:w*", "workspace:nobody*"])
async def test_an_id_or_its_beginning_tells_nothing_of_what_is_out_of_reach(records: Records, pattern: str) -> None:
    hidden = [
        one.record.id
        for one in await records.put(WRITER, [Note(text=f"lantern {n}", scope="workspace:api") for n in range(2)])
    ]
    absent = "0" * 16
    told: dict[str, tuple[str, object]] = {}
    for id in (hidden[0], hidden[0][:18], hidden[0][:20], hidden[0][:-1], absent, str(UUID(int=7))):
        with pytest.raises(RecordNotFound) as refused:
            await records.get(caller("writer", pattern), id)
        told[id] = (refused.value.message.replace(id, "ID"), refused.value.details)

    assert [details for _, details in told.values() if hidden[0] in str(details)] == [{"ids": [hidden[0]]}]
    assert told[hidden[0]] == (told[str(UUID(int=7))][0], {"ids": [hidden[0]]})
    assert told[str(UUID(int=7))][1] == {"ids": [str(UUID(int=7))]}
    assert {told[id][0] for id in (hidden[0][:18], hidden[0][:20], hidden[0][:-1])} == {told[absent][0]}


async def test_what_is_out_of_reach_does_not_make_a_beginning_ambiguous(records: Records) -> None:
    [mine, _] = await records.put(WRITER, [Note(text="lantern", scope=f"workspace:{id}") for id in ("web", "api")])

    found = await records.get(caller("reader", "workspace:w*"), mine.record.id[:18])
    assert found.id == mine.record.id


async def test_the_beginning_of_several_ids_is_refused(records: Records, desk: Desk, clock: FakeClock) -> None:
    drafting = Drafting(clock)
    ids = [f"01920000-0000-7abc-8000-00000000000{number}" for number in range(2)]
    await desk.store.records.put([drafting("lantern", scope="global", id=id, embedder=None) for id in ids])

    with pytest.raises(InvalidInput):
        await records.get(caller("admin"), ids[0][:18])
    assert (await records.get(caller("admin"), ids[0])).id == ids[0]
