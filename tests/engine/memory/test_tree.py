"""The context tree is a view over the records: nothing is in it that is not a record, and nobody sees more than they may."""

from datetime import timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace.doors.tandem.tree import MAX_NODES, Tree, TreeNode, TreePlace, directory_id, read_uri
from commonplace.errors import Forbidden, InvalidInput, InvalidScope, NotFound, RecordNotFound
from commonplace.memory.lifecycle import Lifecycle
from commonplace.memory.write import Writer
from commonplace.stores.sqlite.store import SqliteStore
from commonplace.testing.clock import FakeClock
from commonplace.testing.knowledge import HeldKnowledge
from commonplace.text.tokens import estimate
from commonplace.values.note import Note
from commonplace.values.record import Record
from commonplace.values.scope import DEFAULT_TENANT, Scope

pytestmark = pytest.mark.anyio

LONG = "We ship the shop on Fridays.\n" + "".join(f"Step {n} of the deploy moves box {n % 7}.\n" for n in range(900))


@pytest.fixture
def held() -> HeldKnowledge:
    return HeldKnowledge()


@pytest.fixture
def tree(store: SqliteStore, held: HeldKnowledge) -> Tree:
    return Tree(store.records, store.recall, held, DEFAULT_TENANT, estimate)


async def put(writer: Writer, text: str, scope: str, key: str | None = None, **fields: Any) -> Record:
    (written,) = await writer.put([Note(text=text, scope=scope, key=key, **fields)])
    return written.record


def uris(node: TreeNode) -> list[str]:
    """Every URI in the tree, as it is walked."""
    return [node.node.uri, *(uri for child in node.children for uri in uris(child))]


# ---- addresses


@pytest.mark.parametrize(
    ("uri", "scope"),
    [
        ("commonplace://resources/web", "workspace:web"),
        ("tandem://resources/web/", "workspace:web"),
        ("commonplace://user/ada/memories", "user:ada"),
        ("commonplace://agent/scout/skills", "agent:scout"),
        ("COMMONPLACE://session/s1", "session:s1"),
        ("commonplace://channel/dingtalk%2Froom%207", "channel:dingtalk/room 7"),
        ("commonplace://global", "global"),
    ],
)
def test_a_folder_is_a_scope(uri: str, scope: str) -> None:
    place = read_uri(uri)

    assert place.scope == Scope.parse(scope)
    assert place.leaf is None


@pytest.mark.parametrize(
    "uri", ["", "https://example.com", "commonplace:/x", "commonplace://team/x", "commonplace://user//x",
            "commonplace://user/%ff", "commonplace://user/" + "x" * 5_000]
)  # fmt: skip
def test_what_is_no_address_is_refused(uri: str) -> None:
    with pytest.raises(InvalidInput):
        read_uri(uri)


IDS = st.text(st.characters(exclude_categories=("Cs", "Cc", "Cf", "Co", "Cn", "Zl", "Zp")), min_size=1, max_size=30)


@given(
    kind=st.sampled_from(["agent", "channel", "resources", "session", "user"]),
    id=IDS,
    folder=st.sampled_from([None, "memories"]),
    leaf=st.none() | IDS.filter(lambda leaf: leaf not in ("memories", "skills")),
)
def test_an_address_that_was_written_is_read_the_same(kind: str, id: str, folder: str | None, leaf: str | None) -> None:
    place = TreePlace(kind, id, folder if kind in ("agent", "user") else None, leaf)

    assert read_uri(place.uri) == place


# ---- resolve


async def test_a_record_is_found_by_its_key_or_its_id(tree: Tree, writer: Writer) -> None:
    keyed = await put(writer, "make ship", "workspace:web", "docs/deploy.md")
    plain = await put(writer, "ask Ana", "workspace:web")

    found = [
        await tree.resolve(uri)
        for uri in (
            "commonplace://resources/web/docs%2Fdeploy.md",
            "tandem://resources/web/docs/deploy.md",
            f"commonplace://resources/web/{plain.id}",
        )
    ]

    assert [node.id for node in found] == [keyed.id, keyed.id, plain.id]
    assert {node.node_type for node in found} == {"file"}
    assert {node.parent_uri for node in found} == {"commonplace://resources/web"}
    assert found[0].uri == found[1].uri == "commonplace://resources/web/docs%2Fdeploy.md"
    assert found[0].created_at == keyed.created_at


async def test_a_folder_is_there_even_when_it_is_empty(tree: Tree) -> None:
    root, kind, user = [
        await tree.resolve(f"commonplace://{path}") for path in ("", "user", "user/ada/memories")
    ]  # fmt: skip

    assert (root.parent_uri, kind.parent_uri) == (None, "commonplace://")
    assert user.parent_uri == "commonplace://user/ada"
    assert {node.node_type for node in (root, kind, user)} == {"directory"}
    assert user.id == directory_id("commonplace://user/ada/memories") != directory_id("commonplace://user/ada")
    assert user.updated_at is None


async def test_what_is_not_there_any_more_is_not_found(tree: Tree, writer: Writer, lifecycle: Lifecycle) -> None:
    gone = await put(writer, "old news", "workspace:web", "news")
    other = await put(writer, "elsewhere", "user:ada")
    await lifecycle.delete(gone.id)

    for path in ("resources/web/news", f"resources/web/{gone.id}", f"resources/web/{other.id}", "session/s/x"):
        with pytest.raises(NotFound):
            await tree.resolve(f"commonplace://{path}")


# ---- the tree


async def test_the_root_leads_to_every_record(tree: Tree, writer: Writer) -> None:
    await put(writer, "make ship", "workspace:web", "deploy")
    await put(writer, "likes tea", "user:ada", "tea")
    await put(writer, "for all", "global", "motto")

    found = await tree.tree("commonplace://")

    assert [uri.removeprefix("commonplace://") for uri in uris(found)] == [
        "",
        "agent",
        "channel",
        "global",
        "global/motto",
        "resources",
        "resources/web",
        "resources/web/deploy",
        "session",
        "user",
        "user/ada",
        "user/ada/tea",
    ]


@pytest.mark.parametrize(("depth", "nodes"), [(-1, 1), (0, 1), (1, 7), (2, 8), (3, 9), (99, 9)])
async def test_a_tree_is_as_deep_as_asked(tree: Tree, writer: Writer, depth: int, nodes: int) -> None:
    await put(writer, "make ship", "workspace:web", "deploy")

    found = await tree.tree("commonplace://", depth)

    assert len(uris(found)) == nodes


async def test_a_key_that_reads_like_a_folder_gives_way_to_the_id(tree: Tree, writer: Writer) -> None:
    odd = await put(writer, "odd", "user:ada", "memories")

    (leaf,) = (await tree.tree("commonplace://user/ada")).children

    assert leaf.node.uri == f"commonplace://user/ada/{odd.id}"
    assert (await tree.resolve(leaf.node.uri)).id == odd.id


async def test_children_beyond_the_limit_are_counted_and_the_pinned_stay(tree: Tree, writer: Writer) -> None:
    await writer.put([Note(text=f"note {n}", scope="user:ada", key=f"k{n}", pinned=n == 7) for n in range(206)])

    found = await tree.tree("commonplace://user/ada")

    assert (len(found.children), found.more) == (200, 6)
    assert "commonplace://user/ada/k7" in uris(found)
    assert uris(found) == sorted(uris(found))


async def test_a_whole_tree_is_bounded(tree: Tree, writer: Writer) -> None:
    for user in range(6):
        await writer.put([Note(text=f"note {n}", scope=f"user:u{user}", key=f"k{n:03}") for n in range(210)])

    found = await tree.tree("commonplace://user")

    assert len(uris(found)) <= MAX_NODES + 1
    assert [(len(user.children), user.more) for user in found.children[:2]] == [(200, 10), (200, 10)]
    assert sum(len(user.children) + user.more for user in found.children) + 210 * found.more == 6 * 210


# ---- who may


async def test_what_may_not_be_read_is_not_listed_and_is_refused_when_named(
    store: SqliteStore, held: HeldKnowledge, writer: Writer
) -> None:
    await put(writer, "mine", "user:ada", "mine")
    secret = await put(writer, "not mine", "user:bo", "secret")
    await put(writer, "for all", "global", "motto")
    tree = Tree(
        store.records, store.recall, held, DEFAULT_TENANT, estimate, lambda scope: scope == Scope("user", "ada")
    )

    found = await tree.tree("commonplace://")

    assert [uri for uri in uris(found) if uri.count("/") > 2] == [
        "commonplace://user/ada",
        "commonplace://user/ada/mine",
    ]
    assert "commonplace://global" not in uris(found)
    for uri in ("commonplace://user/bo", "commonplace://user/bo/secret", "commonplace://global"):
        with pytest.raises(Forbidden):
            await tree.resolve(uri)
        with pytest.raises(Forbidden):
            await tree.tree(uri)
    with pytest.raises(RecordNotFound):
        await tree.generate(secret.id)


async def test_another_tenant_has_a_tree_of_its_own(store: SqliteStore, held: HeldKnowledge, writer: Writer) -> None:
    record = await put(writer, "ours", "user:ada", "mine")
    theirs = Tree(store.records, store.recall, held, "umbrella/lab", estimate)

    assert (await theirs.tree("commonplace://user")).children == ()
    with pytest.raises(RecordNotFound):
        await theirs.generate(record.id)


async def test_an_id_that_is_no_scope_is_refused(tree: Tree) -> None:
    with pytest.raises(InvalidScope):
        await tree.resolve("commonplace://user/a%00b")


# ---- layers


async def test_layers_are_made_once_a_version(
    tree: Tree, writer: Writer, held: HeldKnowledge, lifecycle: Lifecycle, clock: FakeClock
) -> None:
    record = await put(writer, LONG, "workspace:web", "deploy")

    made = await tree.generate(record.id)
    again = await tree.generate(record.id)
    clock.advance(timedelta(seconds=1))
    edited = await lifecycle.edit(record.id, {"text": "We ship on Mondays."})
    anew = await tree.generate(record.id)

    assert [layer.name for layer in made] == ["L0", "L1"]
    assert [layer.tokens <= most for layer, most in zip(made, (100, 2_000), strict=True)] == [True, True]
    assert all(one is other for one, other in zip(made, again, strict=True))
    assert [layer.text for layer in anew] == ["We ship on Mondays."] * 2
    assert {layer.version for layer in anew} == {edited.version}
    assert await held.layers(DEFAULT_TENANT, record.id, record.version) == []


async def test_a_tree_shows_the_beginnings_of_the_layers_there_are(tree: Tree, writer: Writer) -> None:
    record = await put(writer, LONG, "workspace:web", "deploy")
    (before,) = (await tree.tree("commonplace://resources/web")).children
    await tree.generate(record.id)

    (after,) = (await tree.tree("commonplace://resources/web")).children

    assert (before.layer_summary.l0_preview, before.layer_summary.has_l2) == (None, True)
    assert after.layer_summary.l0_preview is not None
    assert after.layer_summary.l1_preview is not None
    assert after.layer_summary.l0_preview.startswith("We ship the shop on Fridays.")
    assert (len(after.layer_summary.l0_preview), len(after.layer_summary.l1_preview)) == (100, 200)


async def test_a_folder_has_no_layers(tree: Tree) -> None:
    node = await tree.resolve("commonplace://user/ada")

    assert await tree.generate(node.id) == []
    assert not (await tree.tree(node.uri)).layer_summary.has_l2
