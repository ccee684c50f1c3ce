"""A memory inside a program learns from talk and files facts in Markdown, without a daemon."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import cast

import pytest

from commonplace import open_memory, open_memory_async
from commonplace.errors import InvalidContent, InvalidInput, ManagedMemoryUnavailable, StoreClosed
from commonplace.testing.learning import FILLER
from commonplace.testing.vendor import completion, running_vendor
from commonplace.values.quarantine import is_quarantined
from commonplace.values.record import Turn

TALK = (Turn(speaker="user", text="I live in Lisbon."), FILLER)
MONDAY = datetime(2026, 3, 2, tzinfo=UTC)


@pytest.fixture(autouse=True)
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The workspace that the program runs in."""
    folder = tmp_path / "web"
    (folder / ".git").mkdir(parents=True)
    monkeypatch.chdir(folder)
    return folder


def test_facts_of_a_conversation_are_learned_by_rules_and_only_once() -> None:
    with open_memory(":memory:", embedder="none", actor="ana") as memory:
        done = memory.extract(TALK, scope="user:ana", session="s1", at=MONDAY)
        again = memory.extract(TALK, scope="user:ana", session="s1", at=MONDAY)
        found = memory.search("where does the user live?", scopes="user:ana")

    [fact] = done.facts
    assert (done.status, done.method, fact.text, fact.actor) == (
        "extracted",
        "rules",
        "The user lives in Lisbon",
        "ana",
    )
    assert again.facts == ()
    assert [hit.record.id for hit in found] == [fact.id]


def test_a_transcript_and_the_turns_of_a_session_are_read_as_well() -> None:
    with open_memory(":memory:", embedder="none") as memory:
        told = memory.extract(f"user: I live in Lisbon.\n\nassistant: {FILLER.text}", scope="user:ana")
        memory.add_turns("s2", [Turn(speaker="user", text="My favourite editor is Helix."), FILLER], scope="user:bo")
        kept = memory.extract(session="s2", scope="user:bo")
        with pytest.raises(InvalidInput):
            memory.extract(TALK)

    assert [fact.text for fact in told.facts] == ["The user lives in Lisbon"]
    assert [fact.text for fact in kept.facts] == ["The user's favourite editor is Helix"]


def test_what_a_person_wrote_is_not_changed_by_talk() -> None:
    with open_memory(":memory:", embedder="none") as memory:
        own = memory.put("The user lives in Berlin", scope="user:ana", kind="fact")
        done = memory.extract(TALK, scope="user:ana")

        assert memory.get(own.id) == own
        assert [is_quarantined(fact) for fact in done.facts] == [True]


def test_the_model_of_the_settings_reads_where_there_is_one(monkeypatch: pytest.MonkeyPatch) -> None:
    with running_vendor() as vendor:
        told = {"key": "bees", "value": "Ana keeps bees", "confidence": 0.9, "turn": 1}
        vendor.replies = [completion(text=json.dumps({"facts": [told]}))]
        monkeypatch.setenv("COMMONPLACE_LLM_MODEL", "openai:small")
        monkeypatch.setenv("COMMONPLACE_LLM_BASE_URL", vendor.url)
        monkeypatch.setenv("COMMONPLACE_LLM_PRICES", "small=0.1/0.1")
        with open_memory(":memory:", embedder="none") as memory:
            done = memory.extract(TALK, scope="user:ana")

    assert (done.method, done.fallback, [fact.text for fact in done.facts]) == ("model", None, ["Ana keeps bees"])


def test_a_fact_is_filed_in_markdown_and_found(home: Path) -> None:
    with open_memory(embedder="none") as memory:
        task = memory.remember_workspace_memory("We deploy with make ship", scope="project")
        seen = memory.get_workspace_memory_remember_task(task.id)
        found = memory.search("how do we deploy?", scopes=["workspace:web"])

    assert task.result is not None
    [file] = cast("list[str]", task.result["files_touched"])
    assert (task.status, seen.status) == ("completed", "completed")
    assert Path(file).is_relative_to(home)
    assert "make ship" in Path(file).read_text(encoding="utf-8")
    assert ["make ship" in hit.record.text for hit in found] == [True]


def test_what_cannot_be_filed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with open_memory(":memory:", embedder="none") as memory, pytest.raises(InvalidContent):
        memory.remember_workspace_memory(" ")
    monkeypatch.setenv("COMMONPLACE_MANAGED_MEMORY", "false")
    with open_memory(":memory:", embedder="none") as memory, pytest.raises(ManagedMemoryUnavailable):
        memory.remember_workspace_memory("We deploy with make ship")


@pytest.mark.anyio
async def test_a_closed_memory_learns_nothing_and_leaves_nothing_running() -> None:
    async with open_memory_async(":memory:", embedder="none") as memory:
        await memory.remember_workspace_memory("We deploy with make ship")

    with pytest.raises(StoreClosed):
        await memory.extract(TALK, scope="user:ana")
    with pytest.raises(StoreClosed):
        await memory.remember_workspace_memory("Another fact")
