"""The workspace's memory in a turn: three sections, keyed rows, findings; then what was said and done, and what it taught."""

from collections.abc import Callable
from dataclasses import replace
from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from commonplace import AsyncMemory, Record
from commonplace.agent.memory.backend import AuthChallenge, FinishedTurn, QuestionPrompt, TurnContext, TurnEntry
from commonplace.agent.memory.ingestion import MOST_EVENTS, MOST_TEXT, notes_of
from commonplace.agent.memory.workspace import WorkspaceMemory, WorkspaceMemoryOptions
from commonplace.errors import StoreBusy
from commonplace.values.ingestion import RETENTION, Capture
from commonplace.values.permission import PermissionAnswer, PermissionRequest
from commonplace.values.turn_event import (
    PermissionAnswered,
    PermissionAsked,
    PlanChanged,
    TextAdded,
    ThinkingAdded,
    ToolEnded,
    ToolStarted,
)

pytestmark = pytest.mark.anyio

AT = datetime(2026, 3, 1, 12, tzinfo=UTC)
Turns = Callable[..., TurnContext]
REQUEST = PermissionRequest(id="p1", call="c2", tool="shell", kind="execute", title="Run make test", rule="shell make")
MESSAGES: tuple[TurnEntry, ...] = (
    ThinkingAdded(text="reasoning"),
    TextAdded(text="a part of the reply"),
    ToolStarted(call="c1", tool="grep", kind="search", title="Look for deploy", arguments={"pattern": "deploy"}),
    ToolEnded(call="c1", tool="grep", text="deploy.sh: line 3"),
    PermissionAsked(request=REQUEST),
    PermissionAnswered(answer=PermissionAnswer(request="p1", choice="allow_once", voter="local")),
    ToolStarted(call="c2", tool="shell", kind="execute", title="Run make test"),
    ToolEnded(call="c2", tool="shell", text="exit 2\nmore", failed=True),
    ToolStarted(call="c3", tool="fetch", kind="fetch", title="Fetch a page"),
    QuestionPrompt(text="Which cluster?", options=("blue", "green")),
    AuthChallenge(service="tracker"),
    PlanChanged(entries=({"text": "old", "status": "pending"},)),
    PlanChanged(entries=({"text": "deploy", "status": "completed"}, {"text": "watch", "status": "pending"})),
)
LONG = (
    "I prefer tabs over spaces in every file that I write, please remember that. Our team deploys the payment service to the "
    "blue cluster every Monday, and my name is Ana; I work on the billing backend together with Bo in the office by the harbour."
)


def finished(reply: str = "Noted.", *messages: TurnEntry) -> FinishedTurn:
    return FinishedTurn(reply=reply, at=AT + timedelta(seconds=5), messages=messages)


async def of_session(memory: AsyncMemory) -> list[Record]:
    # The turn was long ago, so that some of it has ended by now.
    page = await memory.list(scopes=["session:s1"], order="oldest", states=["live", "expired"])
    return list(page.records)


# ---- recall


async def test_a_turn_begins_with_keyed_rows_what_answers_it_and_the_session_so_far(
    memory: AsyncMemory, turn: Turns
) -> None:
    await memory.put("Answer in short sentences.", scope="agent:helper", key="style")
    await memory.put("The repository is a monorepo.", scope="workspace:web", key="layout")
    await memory.put("We deploy to the blue cluster.", scope="workspace:web", key="deploy")
    workspace = WorkspaceMemory()
    await workspace.persist_after_run(turn(text="Hello, can we talk about deploys?", run="r0"), finished("Yes."))

    recalled = await workspace.recall_before_run(turn())

    (rows,) = recalled.sections
    assert rows.index("## Agent Memory") < rows.index("## Workspace Memory")
    assert "Answer in short sentences." in rows
    reference = recalled.reference or ""
    assert reference.index("<current_session>") < reference.index("<project_facts>")
    assert "Hello, can we talk about deploys?" in reference
    assert "We deploy to the blue cluster." in reference
    assert "always shown" in {memory.why for memory in recalled.memories}
    assert not any("talk about deploys" in memory.text for memory in recalled.memories)
    found = [memory for memory in recalled.memories if memory.relevance is not None]
    assert [memory.text for memory in found] == ["We deploy to the blue cluster."]


async def test_what_was_ingested_in_another_session_is_history_and_never_a_fact(
    memory: AsyncMemory, turn: Turns
) -> None:
    workspace = WorkspaceMemory()
    await workspace.persist_after_run(
        turn(session="s0", text="The zebra cluster is where we deploy.", run="r0"), finished("Good to know.")
    )

    reference = (await workspace.recall_before_run(turn(text="Where is the zebra cluster?"))).reference or ""

    assert "<project_facts>" not in reference
    assert "zebra" in reference.partition("<relevant_history>")[2]


async def test_a_long_session_leaves_room_for_what_answers_the_question(memory: AsyncMemory, turn: Turns) -> None:
    await memory.put("The zebra cluster is in Oslo.", scope="workspace:web")
    workspace = WorkspaceMemory(WorkspaceMemoryOptions(budget=400))
    for number in range(12):
        text = f"Number {number}: " + " ".join(f"word{number}x{place}" for place in range(60))
        await workspace.persist_after_run(turn(text=text, run=f"r{number}"), finished(f"Heard {number}."))

    for _ in range(2):
        recalled = await workspace.recall_before_run(turn(text="Where is the zebra cluster?"))
        assert "The zebra cluster is in Oslo." in (recalled.reference or "")


async def test_a_finding_that_may_be_built_upon_is_in_the_reference_and_one_that_may_not_is_not(
    memory: AsyncMemory, turn: Turns
) -> None:
    space = await memory.create_space(project="web")
    recording = await memory.record_finding(
        space.id, "Deploys", summary="Blue, on Mondays.", subject="Where do we deploy?"
    )
    workspace = WorkspaceMemory()
    before = await workspace.recall_before_run(turn())
    await memory.promote_finding(recording.item.id, reason="checked")
    after = await workspace.recall_before_run(turn())

    assert "<knowledge_context>" not in (before.reference or "")
    assert "<knowledge_context>" in (after.reference or "")
    assert "Blue, on Mondays." in (after.reference or "")
    assert after.events[0].data["knowledge"] == "reuse_promoted"


async def test_nothing_known_is_no_message(turn: Turns) -> None:
    recalled = await WorkspaceMemory().recall_before_run(turn())

    assert (recalled.sections, recalled.reference, recalled.memories) == ((), None, ())


async def test_a_memory_that_fails_is_an_event_and_the_turn_goes_on(
    memory: AsyncMemory, turn: Turns, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def busy(*_args: object, **_fields: object) -> None:
        raise StoreBusy

    for name in ("sections", "context", "preflight", "put_many", "extract"):
        monkeypatch.setattr(memory, name, busy)
    workspace = WorkspaceMemory()
    recalled = await workspace.recall_before_run(turn())
    persisted = await workspace.persist_after_run(turn(text=LONG), finished())

    faults = [event.data for event in (*recalled.events, *persisted.events) if event.name == "workspace_memory_failed"]
    assert [fault["operation"] for fault in faults] == ["sections", "context", "preflight", "ingest", "learn"]
    assert {str(fault["code"]) for fault in faults} == {"store_busy"}
    monkeypatch.undo()
    # What was not read waits for the next turn.
    later = await workspace.persist_after_run(turn(text="Thanks.", run="r2"), finished("You are welcome."))
    assert any("tabs" in memory.text for memory in later.memories)


async def test_switched_off_nothing_is_recalled_and_nothing_is_kept(memory: AsyncMemory, turn: Turns) -> None:
    await memory.put("We deploy to blue.", scope="workspace:web", key="deploy")
    workspace = WorkspaceMemory(WorkspaceMemoryOptions(recall=False, learn=False))
    recalled = await workspace.recall_before_run(turn())
    await workspace.persist_after_run(turn(text=LONG), finished())
    await workspace.end_session(turn())

    assert (recalled.sections, recalled.reference, recalled.events) == ((), None, ())
    assert await of_session(memory) == []


# ---- ingestion


async def test_a_turn_is_kept_by_its_kinds_each_as_long_as_its_kind_says(memory: AsyncMemory, turn: Turns) -> None:
    persisted = await WorkspaceMemory().persist_after_run(turn(), finished("To blue.", *MESSAGES))

    records = await of_session(memory)
    kinds = {record.kind for record in records}
    assert kinds == RETENTION.keys()
    for record in records:
        retention = RETENTION[record.kind]  # pyright: ignore[reportArgumentType]
        assert record.at is not None
        assert record.expires_at == (None if retention is None else record.at + retention)
        assert (str(record.scope), record.session, record.provenance.run) == ("session:s1", "s1", "r1")
    days = {kind: span.days for kind, span in RETENTION.items() if span}
    assert days == {
        "tool_event": 30,
        "approval_request": 14,
        "approval_decision": 14,
        "auth_challenge": 7,
        "plan_todos": 60,
        "question_prompt": 60,
    }
    assert persisted.events[0].name == "workspace_memory_ingested"
    assert persisted.events[0].data["tool_event"] == 3


def texts(turn: TurnContext, capture: Capture) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for note in notes_of(turn, finished("To blue.", *MESSAGES), capture):
        kinds.setdefault(note.kind or "", []).append(note.text)
    return kinds


async def test_summary_has_a_line_for_each_event_full_also_what_tools_were_given_and_answered_off_nothing(
    turn: Turns,
) -> None:
    summary, full, off = (texts(turn(), capture) for capture in ("summary", "full", "off"))

    assert off == {}
    assert summary == {
        "user_message": ["Where do we deploy?"],
        "tool_event": [
            "tool=grep outcome=ok title=Look for deploy",
            "tool=shell outcome=error title=Run make test error=exit 2 more",
            "tool=fetch outcome=error title=Fetch a page interrupted",
        ],
        "approval_request": ["tool=shell title=Run make test"],
        "approval_decision": ["tool=shell choice=allow_once by=local"],
        "question_prompt": ["Which cluster?\n- blue\n- green"],
        "auth_challenge": ["service=tracker"],
        "plan_todos": ["- [completed] deploy\n- [pending] watch"],
        "assistant_final": ["To blue."],
    }
    assert full["tool_event"][0] == (
        'tool=grep outcome=ok title=Look for deploy\narguments={"pattern": "deploy"}\nresult=deploy.sh: line 3'
    )


async def test_no_secret_and_nothing_endless_is_kept(turn: Turns) -> None:
    key = "-----BEGIN PRIVATE KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQEFAASC\n-----END PRIVATE KEY-----"
    calls = [ToolEnded(call=f"c{n}", tool="read", text=f"{key} " + "x" * 100_000) for n in range(MOST_EVENTS + 50)]

    notes = notes_of(turn(text=f"Here: {key}"), finished("y" * 100_000, *calls), "full")

    assert len(notes) == MOST_EVENTS + 2
    assert not any("MIIEvQ" in note.text for note in notes)
    assert max(len(note.text) for note in notes) <= MOST_TEXT


async def test_the_same_tool_call_again_and_again_is_not_taken_for_a_flood(memory: AsyncMemory, turn: Turns) -> None:
    workspace = WorkspaceMemory()
    calls = [ToolEnded(call=f"c{n}", tool="read_file", text="fine", failed=True) for n in range(30)]
    await workspace.persist_after_run(turn(), finished("Done.", *calls))

    page = await memory.review()
    assert page.waiting == ()
    assert len(await of_session(memory)) == 32


async def test_what_a_tool_brought_is_from_outside_and_what_a_model_said_is_a_models(
    memory: AsyncMemory, turn: Turns
) -> None:
    await WorkspaceMemory().persist_after_run(turn(), finished("To blue.", *MESSAGES))

    trust = {record.kind: record.trust for record in await of_session(memory)}
    assert trust["user_message"] == "system_generated"
    assert trust["tool_event"] == "connector_sourced"
    assert trust["assistant_final"] == "model_generated"


@given(st.lists(st.sampled_from(MESSAGES), max_size=12), st.sampled_from(["summary", "full"]))
def test_whatever_happened_notes_are_in_order_and_of_known_kinds(entries: list[TurnEntry], capture: Capture) -> None:
    context = TurnContext(
        session="s",
        run="r",
        agent="a",
        workspace=None,
        speaker="ana",
        text="Hi",
        at=AT,
        memory=None,  # pyright: ignore[reportArgumentType]
    )

    notes = notes_of(context, finished("Ho", *entries), capture)

    moments = [note.at for note in notes if note.at is not None]
    assert moments == sorted(moments)
    assert (notes[0].kind, notes[-1].kind) == ("user_message", "assistant_final")
    assert {note.kind for note in notes} <= RETENTION.keys()


# ---- learning


async def test_what_was_said_is_learned_and_belongs_to_the_person_or_the_workspace(
    memory: AsyncMemory, turn: Turns
) -> None:
    persisted = await WorkspaceMemory().persist_after_run(turn(text=LONG), finished("I will remember that."))

    scopes = {memory.scope for memory in persisted.memories}
    assert any("tabs" in memory.text for memory in persisted.memories)
    assert "user:local" in scopes
    assert scopes <= {"user:local", "workspace:web", "agent:helper"}
    learned = persisted.events[-1]
    assert (learned.name, learned.data["facts"]) == ("workspace_memory_learned", len(persisted.memories))


async def test_only_what_the_two_said_is_learned_from(memory: AsyncMemory, turn: Turns) -> None:
    tool = ToolEnded(call="c1", tool="fetch", text=f"The user says: {LONG}")

    persisted = await WorkspaceMemory(WorkspaceMemoryOptions(capture="full")).persist_after_run(
        turn(text="Please look at that page. " * 10), finished("It is a page. " * 10, tool, ThinkingAdded(text=LONG))
    )

    assert persisted.memories == ()


async def test_short_exchanges_wait_for_the_next_ones_and_for_the_end_of_the_session(
    memory: AsyncMemory, turn: Turns
) -> None:
    workspace = WorkspaceMemory()
    first = await workspace.persist_after_run(turn(text="I prefer tabs over spaces."), finished("Noted."))
    second = await workspace.persist_after_run(
        turn(text="Let us look at the log of the last build now, it says a lot. " * 4, run="r2"), finished("Fine.")
    )

    assert first.memories == ()
    assert [memory.text for memory in second.memories if "tabs" in memory.text] != []


async def test_what_was_recalled_is_not_learned_again_from_the_reply(memory: AsyncMemory, turn: Turns) -> None:
    await memory.put("The payment service is deployed to the blue cluster.", scope="global")
    workspace = WorkspaceMemory()
    question = turn(text="Where is the payment service deployed?")
    recalled = await workspace.recall_before_run(question)
    reply = "We decided that the payment service is deployed to the blue cluster. " * 4

    persisted = await workspace.persist_after_run(question, finished(reply))

    assert recalled.memories != ()
    assert persisted.memories == ()


async def test_the_end_of_a_session_learns_the_rest_and_lets_the_files_be_tidied(
    memory: AsyncMemory, turn: Turns
) -> None:
    ended: list[str] = []

    async def consolidate(context: TurnContext) -> None:
        ended.append(context.session)

    workspace = WorkspaceMemory(consolidate=consolidate)
    await workspace.persist_after_run(turn(text="I prefer tabs over spaces."), finished("Noted."))
    persisted = await workspace.end_session(turn())

    # Under 200 characters nothing is learned, as at every other door; but it was read.
    assert persisted.events[-1].data["status"] == "skipped_short_conversation"
    assert ended == ["s1"]
    assert (await workspace.end_session(turn())).events == ()


async def test_a_turn_reaches_no_further_than_the_person_who_speaks(memory: AsyncMemory, turn: Turns) -> None:
    await memory.put("Ana is moving to Oslo in spring.", scope="user:ana", key="move")

    # The client is `local`; the turn says that somebody else speaks.
    persisted = await WorkspaceMemory().persist_after_run(turn(text=LONG, speaker="ana"), finished("Noted."))

    assert "user:local" not in {memory.scope for memory in persisted.memories}
    assert "user:ana" not in {memory.scope for memory in persisted.memories}


async def test_a_thousand_sessions_later_the_first_is_forgotten_by_the_process(turn: Turns) -> None:
    workspace = WorkspaceMemory(WorkspaceMemoryOptions(capture="off"))
    for number in range(1_005):
        await workspace.persist_after_run(replace(turn(), session=f"s{number}", text="Hi"), finished("Ho"))

    assert (await workspace.end_session(replace(turn(), session="s0"))).events == ()
    assert (await workspace.end_session(replace(turn(), session="s1004"))).events != ()
