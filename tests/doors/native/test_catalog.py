"""Agents, workspaces, documents, the tree and distillation at the native door and through the client."""

from collections.abc import AsyncGenerator
from pathlib import Path

import httpx
import pytest

from commonplace import AsyncClient
from commonplace.errors import Conflict, Forbidden, InvalidInput, NotFound
from commonplace.testing.daemon import TOKEN, InProcess, served

pytestmark = pytest.mark.anyio

URL = "http://127.0.0.1:4170"
TALK = [
    "user: I prefer dark mode in every editor, and please always answer in English when we work together.",
    "assistant: Noted. I will keep that in mind for all of your projects from now on.",
    "user: We decided to deploy the payment service on Fridays. The root cause of the outage was a missing index on orders.",
]


@pytest.fixture(params=["sqlite", "postgres"])
async def daemon(request: pytest.FixtureRequest, home: Path) -> AsyncGenerator[InProcess]:
    given = {"store": request.getfixturevalue("address")} if request.param == "postgres" else {}
    async with served(home, **given) as running:
        yield running


def entered(daemon: InProcess, secret: str = TOKEN) -> AsyncClient:
    transport = httpx.ASGITransport(app=daemon.app, client=("127.0.0.1", 50_000))
    return AsyncClient(URL, secret, transport=transport, timeout=5.0)


async def person(daemon: InProcess, name: str, role: str = "writer") -> AsyncClient:
    body = {"name": name, "role": role, "user": name}
    answer = await daemon.client.post("/v1/keys", json=body)
    assert answer.is_success, answer.text
    return entered(daemon, answer.json()["secret"])


async def test_an_agent_is_created_changed_and_removed_with_what_it_remembers(daemon: InProcess) -> None:
    async with entered(daemon) as client:
        agent = await client.create_agent("Release notes", id="notes")
        record = await client.put("Deploy with make ship", scope="agent:notes", key="deploy")
        off = await client.sections(agent="notes")
        changed = await client.edit_agent("notes", memory_enabled=True)
        on = await client.sections(agent="notes")
        listed = await client.agents()
        count = await client.remove_agent("notes")

        assert (agent.id, agent.memory_enabled, changed.memory_enabled) == ("notes", False, True)
        assert (off.text, [entry.id for entry in on.records]) == ("", [record.id])
        assert [owner.id for owner in listed] == ["notes"]
        assert count == 1
        assert (await client.get(record.id)).deleted_at is not None
        with pytest.raises(NotFound):
            await client.agent("notes")


async def test_a_workspace_is_created_renamed_and_removed(daemon: InProcess) -> None:
    async with entered(daemon) as client:
        created = await client.create_workspace("Web", id="web")
        renamed = await client.edit_workspace("web", name="Web shop")
        await client.put("We ship on Fridays", scope="workspace:web")

        assert (created.name, renamed.name, (await client.workspace("web")).name) == ("Web", "Web shop", "Web shop")
        assert [owner.id for owner in await client.workspaces()] == ["web"]
        with pytest.raises(Conflict):
            await client.create_workspace("Web", id="web")
        assert await client.remove_workspace("web") == 1
        assert await client.workspaces() == []


async def test_ids_that_are_no_ids_and_a_word_of_ours_are_refused(daemon: InProcess) -> None:
    async with entered(daemon) as client:
        for id in ("learnings", "a b", "x" * 129):
            with pytest.raises(InvalidInput):
                await client.create_agent("Odd", id=id)


async def test_a_document_is_its_owners_alone_also_from_an_admin_who_does_not_ask(daemon: InProcess) -> None:
    async with await person(daemon, "ana") as ana, await person(daemon, "bo") as bo, entered(daemon) as owner:
        first = await ana.put_resource("The quokka is shy.", uri="notes/quokka.md", title="Quokkas")
        second = await ana.put_resource("The quokka is not shy.", uri="notes/quokka.md")

        assert (first.id, first.uri, first.title, first.chunks) == (second.id, "notes/quokka.md", "Quokkas", 1)
        assert [resource.uri for resource in (await ana.resources()).resources] == ["notes/quokka.md"]
        assert (await ana.resource("notes/quokka.md")).text == "The quokka is not shy."
        for other in (bo, owner):
            assert (await other.resources()).resources == ()
            assert await other.search("quokka") == []
            with pytest.raises(NotFound):
                await other.resource("notes/quokka.md")
            with pytest.raises(NotFound):
                await other.remove_resource("notes/quokka.md")
        await ana.remove_resource("notes/quokka.md")
        with pytest.raises(NotFound):
            await ana.resource("notes/quokka.md")


async def test_the_tree_lists_a_level_and_nobody_elses_folder(daemon: InProcess) -> None:
    async with await person(daemon, "ana") as ana, await person(daemon, "bo") as bo, entered(daemon) as owner:
        await ana.put("likes tea", scope="user:ana", key="taste/tea")
        await owner.put("make ship", scope="workspace:web", key="docs/deploy.md")

        top = await ana.tree()
        web = await bo.tree("tandem://resources/web", depth=2)

        assert [child.node.name for child in top.children] == [
            "agent", "channel", "global", "resources", "session", "user"
        ]  # fmt: skip
        assert [child.node.name for child in (await ana.tree("commonplace://user")).children] == ["ana"]
        assert (await bo.tree("commonplace://user")).children == (await owner.tree("commonplace://user")).children == ()
        [everyones] = (await owner.tree("commonplace://user", everyone=True)).children
        assert everyones.node.uri == "commonplace://user/ana"
        assert web.children[0].children[0].node.uri == "commonplace://resources/web/docs/deploy.md"
        for forbidden in (
            bo.tree("commonplace://user/ana"),
            bo.tree(everyone=True),
            bo.resolve("commonplace://user/ana"),
        ):
            with pytest.raises(Forbidden):
                await forbidden


async def test_a_text_is_read_by_its_layers(daemon: InProcess) -> None:
    text = "We ship the shop on Fridays. " + " ".join(f"Step {n} moves box {n % 7}." for n in range(400))
    async with entered(daemon) as client:
        record = await client.put(text, scope="workspace:web", key="docs/deploy.md")
        node = await client.resolve(f"commonplace://resources/web/{record.id}")
        layers = await client.make_layers(node.uri)

        assert node.uri == "commonplace://resources/web/docs/deploy.md"
        assert [layer.name for layer in layers] == ["L0", "L1"]
        assert [await client.layer(node.uri, layer.name) for layer in layers] == layers
        assert (await client.layer(record.id, "L2")).text == text
        assert layers[0].tokens <= 100 < layers[1].tokens
        assert (await client.layer("commonplace://resources/web")).text.endswith("docs/")


async def test_a_search_and_a_prompt_tell_memories_by_a_layer_within_a_budget(daemon: InProcess) -> None:
    text = "The lantern hangs in the hall. " + " ".join(f"Step {n} moves lantern {n % 7}." for n in range(400))
    async with entered(daemon) as client:
        record = await client.put(text, scope="workspace:web")
        [abstract, _] = await client.make_layers(record.id)

        [hit] = await client.search("lantern", layer="L0", budget=100)
        block = await client.context("lantern", layer="L0")

        assert hit.layer == abstract
        assert abstract.text[:60] in block.text
        assert "Step 399" not in block.text
        assert (await client.search("lantern"))[0].layer is None


async def test_a_conversation_is_distilled_once_into_its_own_session(daemon: InProcess) -> None:
    async with await person(daemon, "ana") as ana, await person(daemon, "bo") as bo:
        report = await ana.distill("s1", TALK, workflow="release", artifact_refs=["notes.md"])
        again = await ana.distill("s1", TALK, workflow="release", artifact_refs=["notes.md"])

        assert (report.status, report.method, len(report.stored) > 1) == ("stored", "rules", True)
        assert set(again.deduped) == set(report.stored)
        assert again.stored == ()
        fact = await ana.get(report.stored[0])
        assert (str(fact.scope), fact.kind, fact.trust) == ("session:s1", "fact", "external_user_supplied")
        assert fact.metadata["artifact_refs"] == ["notes.md"]
        with pytest.raises(Forbidden):
            await bo.distill("s1", TALK)
        with pytest.raises(Forbidden):
            await bo.distill("s2", TALK, scope="user:ana")


async def test_a_reader_changes_nothing(daemon: InProcess) -> None:
    async with await person(daemon, "rita", "reader") as reader, entered(daemon) as owner:
        await owner.create_agent("Notes", id="notes")
        record = await owner.put("make ship", scope="workspace:web")
        for act in (
            reader.create_agent("Other"),
            reader.edit_agent("notes", memory_enabled=True),
            reader.remove_agent("notes"),
            reader.create_workspace("Other"),
            reader.put_resource("text"),
            reader.make_layers(record.id),
            reader.distill("s9", TALK),
        ):
            with pytest.raises(Forbidden):
                await act
        assert [agent.id for agent in await reader.agents()] == ["notes"]
