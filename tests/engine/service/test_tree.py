"""The context tree is a view over the records: nothing is in it that is not a record, and nobody sees more than they may."""

from datetime import timedelta

import pytest

from commonplace.errors import Forbidden, InvalidInput, InvalidScope, NotFound, RecordNotFound
from commonplace.service.desk import Desk
from commonplace.service.records import Records
from commonplace.service.tree import Browsing, TreeQuery
from commonplace.service.tree_walk import MAX_NODES
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.callers import caller, operator
from commonplace.testing.clock import FakeClock
from commonplace.values.audit import AuditQuery
from commonplace.values.note import Note
from commonplace.values.principal import Principal
from commonplace.values.record import Record, Turn
from commonplace.values.scope import DEFAULT_TENANT
from commonplace.values.tree import TreeNode
from commonplace.values.turn_options import TurnOptions

pytestmark = pytest.mark.anyio

LONG = "We ship the shop on Fridays.\n" + "".join(f"Step {n} of the deploy moves box {n % 7}.\n" for n in range(900))
OWNER = operator()
ADA, BO = caller("writer", name="ada"), caller("writer", name="bo")


@pytest.fixture
def browsing(desk: Desk) -> Browsing:
    return Browsing(desk)


async def put(
    records: Records, text: str, scope: str, key: str | None = None, *, who: Principal = OWNER, pinned: bool = False
) -> Record:
    [write] = await records.put(who, [Note(text=text, scope=scope, key=key, pinned=pinned)])
    return write.record


async def tree(browsing: Browsing, uri: str, depth: int = 3, *, who: Principal = OWNER) -> TreeNode:
    return await browsing.tree(who, TreeQuery(uri=f"commonplace://{uri}", depth=depth))


def uris(node: TreeNode) -> list[str]:
    """Every address in the tree, as it is walked."""
    own = node.node.uri.removeprefix("commonplace://")
    return [own, *(uri for child in node.children for uri in uris(child))]


# ---- resolve


@pytest.mark.parametrize("scheme", ["commonplace", "tandem"])
async def test_addresses_of_before_lead_to_readable_ones(browsing: Browsing, records: Records, scheme: str) -> None:
    keyed = await put(records, "make ship", "workspace:web", "docs/deploy.md")
    plain = await put(records, "Ask Ana first", "workspace:web")

    nodes = [
        await browsing.resolve(OWNER, f"{scheme}://resources/web/{path}")
        for path in ("docs%2Fdeploy.md", "docs/deploy.md", plain.id, "Ask-Ana-first")
    ]

    assert [node.id for node in nodes] == [keyed.id, keyed.id, plain.id, plain.id]
    assert [node.uri for node in nodes] == [
        "commonplace://resources/web/docs/deploy.md",
        "commonplace://resources/web/docs/deploy.md",
        "commonplace://resources/web/Ask-Ana-first",
        "commonplace://resources/web/Ask-Ana-first",
    ]
    assert (nodes[0].parent_uri, nodes[0].name) == ("commonplace://resources/web/docs", "deploy.md")


async def test_a_scope_is_a_folder_even_when_it_is_empty_and_its_id_is_its_address(browsing: Browsing) -> None:
    root, kind, user = [
        await browsing.resolve(OWNER, f"commonplace://{path}") for path in ("", "user", "user/ada/memories")
    ]  # fmt: skip

    assert (root.parent_uri, kind.parent_uri) == (None, "commonplace://")
    assert user.parent_uri == "commonplace://user/ada"
    assert {node.node_type for node in (root, kind, user)} == {"directory"}
    assert user.id == user.uri
    assert user.updated_at is None


async def test_what_is_not_there_any_more_is_not_found(browsing: Browsing, records: Records) -> None:
    gone = await put(records, "old news", "workspace:web", "archive/news")
    other = await put(records, "elsewhere", "user:local")
    await records.delete(OWNER, gone.id)

    paths = ("resources/web/archive/news", "resources/web/archive", f"resources/web/{gone.id}")
    for path in (*paths, f"resources/web/{other.id}", "session/s/x"):
        with pytest.raises(NotFound):
            await browsing.resolve(OWNER, f"commonplace://{path}")


async def test_a_name_stays_with_its_record_when_the_one_before_it_is_deleted(
    browsing: Browsing, records: Records, clock: FakeClock
) -> None:
    first = await put(records, "The plan", "workspace:web")
    clock.advance(timedelta(seconds=1))
    second = await put(records, "The plan", "workspace:web")
    before = await browsing.resolve(OWNER, f"commonplace://resources/web/{second.id}")
    await records.delete(OWNER, first.id)

    assert before.uri.endswith("/The-plan-2")
    assert (await browsing.resolve(OWNER, before.uri)).id == second.id
    with pytest.raises(NotFound):
        await browsing.resolve(OWNER, "commonplace://resources/web/The-plan")


# ---- the tree


async def test_the_root_leads_to_every_record_of_the_caller(browsing: Browsing, records: Records) -> None:
    await put(records, "make ship", "workspace:web", "docs/deploy")
    await put(records, "likes tea", "user:local", "tea")
    await put(records, "for all", "global", "motto")

    whole = await tree(browsing, "", 4)

    assert uris(whole) == [
        "", "agent", "channel", "global", "global/motto", "resources", "resources/web", "resources/web/docs",
        "resources/web/docs/deploy", "session", "user", "user/local", "user/local/tea",
    ]  # fmt: skip


@pytest.mark.parametrize(("depth", "nodes"), [(-1, 1), (0, 1), (1, 7), (2, 8), (3, 9), (99, 9)])
async def test_a_tree_is_as_deep_as_asked(browsing: Browsing, records: Records, depth: int, nodes: int) -> None:
    await put(records, "make ship", "workspace:web", "deploy")

    assert len(uris(await tree(browsing, "", depth))) == nodes


async def test_a_listing_has_one_level_with_how_much_is_below(browsing: Browsing, records: Records) -> None:
    for key in ("readme.md", "docs/deploy.md", "docs/how-to/undo.md"):
        await put(records, f"about {key}", "workspace:web", key)

    level = await tree(browsing, "resources/web", 1)
    deeper = await tree(browsing, "resources/web/docs", 1)

    assert uris(level) == ["resources/web", "resources/web/readme.md", "resources/web/docs"]
    assert [child.files for child in level.children] == [1, 2]
    assert (level.files, level.children[0].abstract) == (3, "about readme.md")
    assert uris(deeper)[1:] == ["resources/web/docs/deploy.md", "resources/web/docs/how-to"]


async def test_what_was_said_is_in_a_folder_of_its_session(browsing: Browsing, records: Records) -> None:
    turns = [Turn(speaker="ana", text="Hello"), Turn(speaker="bot", text="Good morning")]
    await records.add_turns(OWNER, TurnOptions(session="chat:7", scope="user:local"), turns)

    whole = await tree(browsing, "user/local", 3)

    assert uris(whole)[1:] == [
        "user/local/sessions",
        "user/local/sessions/chat-7",
        "user/local/sessions/chat-7/0001-ana",
        "user/local/sessions/chat-7/0002-bot",
    ]


async def test_a_cursor_goes_on_with_a_level_and_nothing_is_shown_twice(browsing: Browsing, records: Records) -> None:
    await records.put(OWNER, [Note(text=f"note {n}", scope="user:local", key=f"k{n:03}") for n in range(205)])
    await put(records, "in a folder", "user:local", "z/file")
    query = TreeQuery(uri="commonplace://user/local", depth=1)

    first = await browsing.tree(OWNER, query)
    rest = await browsing.tree(OWNER, TreeQuery(uri=query.uri, depth=1, after=first.cursor))

    assert (len(first.children), first.more, rest.more, rest.cursor) == (200, 6, 0, None)
    names = [child.node.name for child in (*first.children, *rest.children)]
    assert names == [*(f"k{n:03}" for n in range(205)), "z"]
    for depth, after in ((2, first.cursor), (1, "nonsense")):
        with pytest.raises(InvalidInput):
            await browsing.tree(OWNER, TreeQuery(uri=query.uri, depth=depth, after=after))


async def test_of_too_many_children_the_pinned_stay(browsing: Browsing, records: Records) -> None:
    notes = [Note(text=f"note {n}", scope="user:local", key=f"k{n}", pinned=n == 7) for n in range(206)]
    await records.put(OWNER, notes)

    whole = await tree(browsing, "user/local", 2)

    assert (len(whole.children), whole.more) == (200, 6)
    assert "user/local/k7" in uris(whole)


async def test_a_whole_tree_is_bounded(browsing: Browsing, records: Records) -> None:
    for agent in range(6):
        notes = [Note(text=f"note {n}", scope=f"agent:a{agent}", key=f"k{n:03}") for n in range(210)]
        await records.put(OWNER, notes)

    whole = await tree(browsing, "agent")

    assert len(uris(whole)) <= MAX_NODES + 1
    assert [(len(agent.children), agent.more) for agent in whole.children[:2]] == [(200, 10), (200, 10)]


# ---- who may


async def test_other_persons_and_their_sessions_are_not_listed(browsing: Browsing, records: Records) -> None:
    await put(records, "mine", "user:ada", "mine", who=ADA)
    await put(records, "my talk", "session:a1", "talk", who=ADA)
    await put(records, "not mine", "user:bo", "secret", who=BO)
    await put(records, "not my talk", "session:b1", "talk", who=BO)
    await put(records, "for all", "global", "motto")

    seen = uris(await tree(browsing, "", who=ADA))

    assert [uri for uri in seen if "/" in uri] == [
        "global/motto", "session/a1", "session/a1/talk", "user/ada", "user/ada/mine"
    ]  # fmt: skip


async def test_somebody_elses_folder_is_refused_when_it_is_named(browsing: Browsing, records: Records) -> None:
    secret = await put(records, "not mine", "user:bo", "secret", who=BO)
    await put(records, "not my talk", "session:b1", "talk", who=BO)

    for uri in ("user/bo", "user/bo/secret", "session/b1", "session/b1/talk", f"user/bo/{secret.id}"):
        for act in (
            browsing.resolve(ADA, f"commonplace://{uri}"),
            tree(browsing, uri, who=ADA),
            browsing.layer(ADA, f"commonplace://{uri}", "L0"),
            browsing.generate(ADA, f"commonplace://{uri}"),
        ):
            with pytest.raises(Forbidden):
                await act
    for act in (browsing.generate(ADA, secret.id), browsing.layer(ADA, secret.id, "L2")):
        with pytest.raises(RecordNotFound):
            await act


async def test_an_admin_sees_everyones_only_when_asked_and_the_audit_says_so(
    browsing: Browsing, records: Records, store: SqliteStore
) -> None:
    await put(records, "not mine", "user:bo", "secret", who=BO)
    uri = "commonplace://user"

    at_home = await browsing.tree(OWNER, TreeQuery(uri=uri))
    everyones = await browsing.tree(OWNER, TreeQuery(uri=uri, everyone=True))

    assert (uris(at_home), uris(everyones)) == (["user"], ["user", "user/bo", "user/bo/secret"])
    with pytest.raises(Forbidden):
        await browsing.tree(ADA, TreeQuery(uri=uri, everyone=True))
    rows = (await store.journal.audit(DEFAULT_TENANT, AuditQuery(actions=("tree.read",)), 10, None)).rows
    assert [row.details.get("everyone") for row in rows if row.outcome == "ok"] == [True]


async def test_another_tenant_has_a_tree_of_its_own(browsing: Browsing, records: Records) -> None:
    record = await put(records, "ours", "workspace:web", "mine")
    abroad = operator("umbrella/lab")

    assert (await tree(browsing, "resources", who=abroad)).children == ()
    with pytest.raises(RecordNotFound):
        await browsing.generate(abroad, record.id)


async def test_an_id_that_is_no_scope_is_refused(browsing: Browsing) -> None:
    with pytest.raises(InvalidScope):
        await browsing.resolve(OWNER, "commonplace://user/a%00b")


# ---- layers


async def test_layers_are_made_once_a_version(browsing: Browsing, records: Records, clock: FakeClock) -> None:
    record = await put(records, LONG, "workspace:web", "deploy")

    layers = await browsing.generate(OWNER, record.id)
    again = await browsing.generate(OWNER, "commonplace://resources/web/deploy")
    clock.advance(timedelta(seconds=1))
    edited = await records.edit(OWNER, record.id, {"text": "We ship on Mondays."})
    anew = await browsing.generate(OWNER, record.id)

    assert [layer.name for layer in layers] == ["L0", "L1"]
    assert [layer.tokens <= most for layer, most in zip(layers, (100, 2_000), strict=True)] == [True, True]
    assert layers == again
    assert [layer.text for layer in anew] == ["We ship on Mondays."] * 2
    assert {layer.version for layer in anew} == {edited.version}


async def test_each_layer_of_a_text_can_be_read_before_and_after_it_was_made(
    browsing: Browsing, records: Records
) -> None:
    record = await put(records, LONG, "workspace:web", "deploy")
    reader = caller("reader")

    before = [await browsing.layer(reader, record.id, name) for name in ("L0", "L1", "L2")]
    made = await browsing.generate(OWNER, record.id)
    after = [await browsing.layer(reader, "tandem://resources/web/deploy", name) for name in ("L0", "L1", "L2")]

    assert [layer.text for layer in after[:2]] == [layer.text for layer in made]
    assert after[2].text == before[2].text == LONG
    assert [layer.text.startswith("We ship the shop on Fridays.") for layer in before] == [True] * 3
    assert before[0].tokens <= 100 < before[1].tokens <= 2_000 < before[2].tokens


async def test_a_folder_is_told_by_what_is_in_it(browsing: Browsing, records: Records) -> None:
    await put(records, "Run make ship.", "workspace:web", "docs/deploy.md")
    await put(records, "Start here.", "workspace:web", "readme.md")
    uri = "commonplace://resources/web"

    abstract, overview = [await browsing.layer(OWNER, uri, name) for name in ("L0", "L1")]

    assert abstract.text == f"{uri}: 1 folders and 1 memories. docs/ readme.md"
    assert overview.text.splitlines()[1:] == ["- docs/", "- readme.md: Start here."]
    assert await browsing.generate(OWNER, uri) == await browsing.generate(OWNER, "dir-0123") == []
    with pytest.raises(NotFound):
        await browsing.layer(OWNER, uri, "L2")


async def test_a_tree_shows_the_beginnings_of_the_layers_there_are(browsing: Browsing, records: Records) -> None:
    record = await put(records, LONG, "workspace:web", "deploy")
    [before] = (await tree(browsing, "resources/web")).children
    await browsing.generate(OWNER, record.id)

    [after] = (await tree(browsing, "resources/web")).children

    assert (before.layer_summary.l0_preview, before.layer_summary.has_l2) == (None, True)
    assert after.layer_summary.l0_preview is not None
    assert after.layer_summary.l1_preview is not None
    assert after.layer_summary.l0_preview.startswith("We ship the shop on Fridays.")
    assert (len(after.layer_summary.l0_preview), len(after.layer_summary.l1_preview)) == (100, 200)


async def test_a_reader_makes_no_layers(browsing: Browsing, records: Records) -> None:
    record = await put(records, LONG, "workspace:web", "deploy")

    with pytest.raises(Forbidden):
        await browsing.generate(caller("reader"), record.id)
