"""What there is, seen as a whole, and the files of managed memory, through the clients."""

import pytest

from commonplace import AsyncClient, Client
from commonplace.errors import FilePreconditionFailed, InvalidInput, NothingToUndo, PathNotFound, RecordNotFound
from commonplace.testing.daemon import Daemon

TEXT = "---\nname: Tone\ntype: feedback\n---\nPlain and short.\n"


@pytest.mark.anyio
async def test_scopes_and_counts_are_what_the_daemon_says(client: AsyncClient) -> None:
    await client.put("One", scope="workspace:web", kind="fact")
    await client.put("Two", scope="user:ana")

    found, users = await client.scopes("WEB"), await client.scopes(kinds=["user"], everyone=True)
    facts = await client.counts("kind", scopes="workspace:web")

    assert [(str(one.scope), one.records, found.more) for one in found.scopes] == [("workspace:web", 1, False)]
    assert [str(one.scope) for one in users.scopes] == ["user:ana"]
    assert [(dict(one.by), one.records) for one in facts.counts] == [({"kind": "fact"}, 1)]
    assert (await client.counts(["kind", "scope"], pinned=False)).total == 1
    assert (await client.counts(["kind", "scope"], pinned=False, everyone=True)).total == 2
    assert (await client.counts("kind", states=[])).total == 0
    with pytest.raises(InvalidInput):
        await client.counts(["kind", "kind"])


@pytest.mark.anyio
async def test_a_record_tells_where_it_was_recalled(client: AsyncClient) -> None:
    record = await client.put("The wombat sleeps")
    await client.search("wombat")

    [recall] = (await client.recalls(record.id)).recalls

    assert (recall.action, recall.rank, recall.by) == ("record.search", 1, "operator")
    with pytest.raises(RecordNotFound):
        await client.recalls("01970000-0000-7000-8000-000000000000")


@pytest.mark.anyio
async def test_weights_and_latency_are_told(client: AsyncClient) -> None:
    await client.search("wombat")

    weights, latency = await client.weights(), await client.latency()

    assert {one.name: one.default for one in weights}["words"] == 1.0
    assert (latency.whole.count, len(latency.minutes)) == (1, 1)


@pytest.mark.anyio
async def test_files_of_managed_memory_are_made_changed_removed_and_brought_back(client: AsyncClient) -> None:
    made = await client.write_managed_file("user", "feedback/tone.md", TEXT)
    read = await client.managed_file("user", "feedback/tone.md")

    changed = await client.write_managed_file("user", "feedback/tone.md", TEXT + "More.\n", etag=read.etag)
    with pytest.raises(FilePreconditionFailed) as refused:
        await client.delete_managed_file("user", "feedback/tone.md", etag=read.etag)
    assert changed.file is not None
    removed = await client.delete_managed_file("user", "feedback/tone.md", etag=changed.file.etag)
    with pytest.raises(PathNotFound):
        await client.managed_file("user", "feedback/tone.md")
    undone = await client.undo_managed_change(removed.change or "")

    assert made.file == read
    assert refused.value.details["text"] == TEXT + "More.\n"
    assert undone.restored == ("feedback/tone.md",)
    assert [(one.root, [file.path for file in one.files]) for one in await client.managed_files()] == [
        ("user", ["feedback/tone.md"]),
        ("project", []),
    ]
    assert [one.what for one in await client.managed_changes()] == ["undo", "edit", "edit", "edit"]
    with pytest.raises(NothingToUndo):
        await client.undo_managed_change("edit-nobody")


@pytest.mark.anyio
async def test_entries_of_managed_memory_are_recalled_for_a_prompt(client: AsyncClient) -> None:
    await client.write_managed_file("user", "feedback/tone.md", TEXT)

    found = await client.recall_managed("Is the tone plain?", ["grep_search"])

    assert [(one.root, one.path, one.type, one.note) for one in found.entries] == [
        ("user", "feedback/tone.md", "feedback", None)
    ]
    assert "Plain and short." in found.text
    assert (await client.recall_managed("xylophone")).text == ""


def test_files_are_sent_along_and_imported(daemon: Daemon) -> None:
    with Client(daemon.url, daemon.token) as client:
        report = client.import_files({"notes/a.md": "They dig.", "b.png": "x"}, scope="workspace:web")

        assert (report.indexed_files, [file for file, _ in report.problems]) == (1, ["b.png"])
        assert [one.provenance.file for one in client.list(scopes="workspace:web").records] == ["notes/a.md"]
        with pytest.raises(InvalidInput):
            client.import_files({"../a.md": "x"})
        assert client.recall_managed("xylophone").entries == ()
