"""Whatever ends a process in the middle of a commit, the run is whole afterwards, and nothing acknowledged is lost."""

import errno
import os
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest

from commonplace.errors import InvalidInput, InvalidText, TextTooLarge
from commonplace.runs.archive import RunArchive
from commonplace.runs.folder import EVENTS, MOST_EVENT, PATCH, PATCHES, STATE, RunFolder, these
from commonplace.runs.replay import replay
from commonplace.values.run import PatchDraft, RunCommit, RunDraft, RunEventDraft
from commonplace.values.run_errors import RunBusy, RunDamaged, RunNotFound
from commonplace.values.scope import DEFAULT_TENANT

WORKER = Path(__file__).with_name("run_worker.py")
STEPS = ("event", "state", "patch", "blackboard")


def fact(text: str, command_id: str | None = None) -> RunEventDraft:
    return RunEventDraft(type="note", patch=PatchDraft(op="add_fact", payload={"text": text}), command_id=command_id)


def keep(folder: RunFolder, now: datetime, *drafts: RunEventDraft) -> RunCommit:
    return folder.commit(these(drafts), now)


def worker(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(WORKER), *arguments], capture_output=True, text=True, check=False, timeout=30
    )


@pytest.mark.parametrize("step", STEPS)
def test_a_process_killed_after_any_step_of_a_commit_leaves_a_run_that_the_next_one_finishes(
    tmp_path: Path, folder: RunFolder, now: datetime, step: str
) -> None:
    keep(folder, now, fact("It is warm."))

    ended = worker("end_at", str(tmp_path), step)

    assert ended.returncode == 9, ended.stderr
    again = RunArchive(tmp_path).folder(DEFAULT_TENANT, "r1")
    state, board = again.state(), again.blackboard()
    assert (state.last_event_seq, state.status, state.revision) == (2, "running", 3)
    assert [item.text for item in board.facts] == ["It is warm.", "It rains."]
    assert [patch.seq for patch in again.patches()] == [1, 2]
    assert not replay(again).drift.mismatch
    assert keep(again, now, fact("It is dry.")).events[0].seq == 3


def test_of_several_events_none_is_kept_if_one_cannot_be(folder: RunFolder, now: datetime) -> None:
    before = {path.name: path.read_bytes() for path in folder.path.iterdir()}

    with pytest.raises(InvalidInput):
        keep(folder, now, fact("It is warm."), RunEventDraft(type="note", payload={PATCH: {}}))

    assert {path.name: path.read_bytes() for path in folder.path.iterdir()} == before


@pytest.mark.parametrize("state_is_saved", [False, True])
def test_a_last_line_torn_at_any_byte_is_repaired_and_the_journal_goes_on_without_a_gap(
    tmp_path: Path, folder: RunFolder, now: datetime, state_is_saved: bool
) -> None:
    keep(folder, now, fact("First."))
    keep(folder, now, fact("Second."))
    earlier = (folder.path / STATE).read_bytes()
    begin = (folder.path / EVENTS).stat().st_size
    keep(folder, now, fact("Third, with a é and a 雨."))
    whole = (folder.path / EVENTS).read_bytes()
    if not state_is_saved:
        (folder.path / STATE).write_bytes(earlier)
    kept = tmp_path / "kept"
    shutil.copytree(folder.path, kept)

    for end in range(begin, len(whole) + 1):
        shutil.rmtree(folder.path)
        shutil.copytree(kept, folder.path)
        (folder.path / EVENTS).write_bytes(whole[:end])
        again = RunFolder(folder.path)
        expected = 3 if end >= len(whole) - 1 else 2

        state = again.state()

        assert state.last_event_seq == expected, end
        assert len(again.blackboard().facts) == expected, end
        assert not replay(again).drift.mismatch, end
        assert keep(again, now, fact("Fourth.")).events[0].seq == expected + 1, end
        assert [event.seq for event in again.events()] == list(range(1, expected + 2)), end


def test_a_line_of_the_patches_torn_at_any_byte_is_made_again_from_its_event(
    tmp_path: Path, folder: RunFolder, now: datetime
) -> None:
    keep(folder, now, fact("First."))
    begin = (folder.path / PATCHES).stat().st_size
    keep(folder, now, fact("Second."))
    whole = (folder.path / PATCHES).read_bytes()

    for end in range(begin, len(whole)):
        (folder.path / PATCHES).write_bytes(whole[:end])
        again = RunFolder(folder.path)

        assert len(again.blackboard().facts) == 2, end
        assert (folder.path / PATCHES).read_bytes() == whole, end


@pytest.mark.parametrize("name", [STATE, "blackboard.json"])
@pytest.mark.parametrize("content", [None, b"", b'{"run_id": "r1"'])
def test_what_a_loss_of_power_left_of_a_derived_file_is_made_again(
    folder: RunFolder, now: datetime, name: str, content: bytes | None
) -> None:
    keep(folder, now, RunEventDraft(type="session_run_started"), fact("First."))
    state, board = folder.state(), folder.blackboard()
    if content is None:
        (folder.path / name).unlink()
    else:
        (folder.path / name).write_bytes(content)

    again = RunFolder(folder.path)

    assert (again.state(), again.blackboard()) == (state, board)


def test_a_line_that_somebody_changed_in_the_middle_is_damage_and_said_to_be(folder: RunFolder, now: datetime) -> None:
    keep(folder, now, fact("First."), fact("Second."), fact("Third."))
    path = folder.path / EVENTS
    path.write_bytes(path.read_bytes().replace(b"Second.", b'Second".', 1))

    with pytest.raises(RunDamaged):
        replay(RunFolder(folder.path))


def test_a_journal_that_is_gone_is_damage_and_the_state_is_left_alone(folder: RunFolder, now: datetime) -> None:
    for _ in range(2):
        keep(folder, now, *[RunEventDraft(type="note")] * 100)
    (folder.path / EVENTS).unlink()
    before = (folder.path / STATE).read_bytes()

    with pytest.raises(RunDamaged):
        RunFolder(folder.path).state()

    assert (folder.path / STATE).read_bytes() == before


def test_the_same_command_is_done_once_in_the_last_500_events_here_and_in_another_process(
    tmp_path: Path, folder: RunFolder, now: datetime
) -> None:
    first = keep(folder, now, fact("Once.", command_id="c1"))

    again = keep(folder, now, fact("Once.", command_id="c1"))
    elsewhere = keep(RunArchive(tmp_path).folder(DEFAULT_TENANT, "r1"), now, fact("Once.", command_id="c1"))

    assert not first.deduped
    assert again.deduped
    assert elsewhere.deduped
    assert again.events == elsewhere.events == first.events
    assert len(folder.blackboard().facts) == 1
    for _ in range(5):
        keep(folder, now, *[RunEventDraft(type="note")] * 100)
    assert not keep(folder, now, fact("Once.", command_id="c1")).deduped
    assert not keep(RunFolder(folder.path), now, fact("Twice.", command_id="c2")).deduped


def test_a_command_that_comes_twice_in_one_commit_is_done_once(folder: RunFolder, now: datetime) -> None:
    commit = keep(folder, now, fact("A.", command_id="c"), fact("B.", command_id="c"))

    assert [item.text for item in commit.blackboard.facts] == ["A."]
    assert commit.events[0] == commit.events[1]


def test_what_a_process_remembers_yields_to_what_another_has_written(
    tmp_path: Path, folder: RunFolder, now: datetime
) -> None:
    other = RunArchive(tmp_path).folder(DEFAULT_TENANT, "r1")
    keep(folder, now, fact("Mine."))
    keep(other, now, fact("Yours."))

    commit = keep(folder, now, fact("Mine again."))

    assert commit.events[0].seq == 3
    assert [item.text for item in commit.blackboard.facts] == ["Mine.", "Yours.", "Mine again."]


def test_a_full_disk_leaves_no_part_of_an_event(
    folder: RunFolder, now: datetime, monkeypatch: pytest.MonkeyPatch
) -> None:
    keep(folder, now, fact("First."))
    before = (folder.path / EVENTS).read_bytes()
    write = os.write

    def full(file: int, data: bytes) -> int:
        write(file, bytes(data)[:10])
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "write", full)
    with pytest.raises(OSError, match="No space"):
        keep(folder, now, fact("Second."))
    monkeypatch.undo()

    assert (folder.path / EVENTS).read_bytes() == before
    assert keep(folder, now, fact("Second.")).events[0].seq == 2


def test_an_event_that_cannot_be_kept_is_refused_and_the_run_goes_on(folder: RunFolder, now: datetime) -> None:
    with pytest.raises(InvalidText):
        keep(folder, now, RunEventDraft(type="note", payload={"text": "\ud800"}))
    with pytest.raises(TextTooLarge):
        keep(folder, now, RunEventDraft(type="note", payload={"text": "x" * MOST_EVENT}))
    with pytest.raises(InvalidInput):
        keep(folder, now, RunEventDraft(type="note", patch=PatchDraft(op="add_fact", payload={})))
    with pytest.raises(InvalidInput):
        keep(folder, now, *[RunEventDraft(type="note")] * 101)

    assert keep(folder, now, RunEventDraft(type="note")).events[0].seq == 1


def test_whoever_waits_too_long_for_the_lock_is_told_that_the_run_is_busy(
    tmp_path: Path, folder: RunFolder, now: datetime
) -> None:
    def decide(state: object, commands: object) -> list[RunEventDraft]:
        with pytest.raises(RunBusy):
            RunFolder(folder.path, patience=0.05).state()
        return []

    folder.commit(decide, now)


def test_a_run_that_is_taken_away_is_found_by_nobody_who_knew_it(
    archive: RunArchive, folder: RunFolder, now: datetime
) -> None:
    keep(folder, now, fact("First."))

    archive.remove(DEFAULT_TENANT, "r1")

    with pytest.raises(RunNotFound):
        keep(folder, now, fact("Second."))
    assert archive.cards(DEFAULT_TENANT) == []
    assert list(folder.path.parent.iterdir()) == []
    new_state = archive.create(DEFAULT_TENANT, "ana", RunDraft(run_id="r1", objective="Anew"), now)
    assert archive.folder(DEFAULT_TENANT, "r1").state() == new_state


def test_saving_costs_the_same_however_long_the_run_is(folder: RunFolder, now: datetime) -> None:
    keep(folder, now, fact("First."))
    short = (folder.path / STATE).stat().st_size
    for number in range(20):
        keep(folder, now, *[RunEventDraft(type="note", payload={"n": number})] * 100)

    assert (folder.path / STATE).stat().st_size - short < 20


def test_a_large_blackboard_is_not_written_for_each_patch_and_nothing_of_it_is_lost(
    folder: RunFolder, now: datetime
) -> None:
    keep(folder, now, *[fact("x" * 5_000) for _ in range(40)])
    path = folder.path / "blackboard.json"
    before = path.stat().st_mtime_ns, path.stat().st_size

    keep(folder, now, fact("One more."))

    assert (path.stat().st_mtime_ns, path.stat().st_size) == before
    assert len(RunFolder(folder.path).blackboard().facts) == 41
    keep(folder, now, RunEventDraft(type="run_cancelled"))
    assert b"One more." in path.read_bytes()


def test_files_of_a_run_are_for_their_owner_alone(tmp_path: Path, folder: RunFolder, now: datetime) -> None:
    keep(folder, now, fact("First."))
    folder.checkpoint("r", now)

    modes = {path: path.stat().st_mode & 0o077 for path in (tmp_path / "context_runs").rglob("*")}

    assert set(modes.values()) == {0}
    assert (tmp_path / "context_runs").stat().st_mode & 0o077 == 0


def test_tenants_have_runs_of_their_own_under_the_same_name(archive: RunArchive, now: datetime) -> None:
    for tenant in (DEFAULT_TENANT, "acme/rockets", f"acme/{'é' * 200}"):
        archive.create(tenant, "ana", RunDraft(run_id="same", objective=tenant), now)

    assert archive.folder("acme/rockets", "same").state().objective == "acme/rockets"
    assert [card.run_id for card in archive.cards(DEFAULT_TENANT)] == ["same"]


@pytest.mark.parametrize("run_id", ["", ".", "..", "../x", "a/b", ".hidden", "-x", "x" * 129, "events", "a\0b", "@x"])
def test_an_id_that_is_no_name_of_a_folder_is_refused(archive: RunArchive, now: datetime, run_id: str) -> None:
    with pytest.raises(InvalidInput):
        archive.create(DEFAULT_TENANT, "ana", RunDraft(run_id=run_id, objective="x"), now)
    with pytest.raises(RunNotFound):
        archive.folder(DEFAULT_TENANT, run_id)


def test_several_processes_ask_for_the_same_tasks_and_each_task_is_taken_once(
    tmp_path: Path, folder: RunFolder, now: datetime
) -> None:
    from_tasks = [
        RunEventDraft(
            type="context.task.created",
            task_id=f"t{number}",
            payload={"task": {"id": f"t{number}", "task_type": "t", "status": "runnable"}},
        )
        for number in range(40)
    ]
    keep(folder, now, *from_tasks)
    command = [sys.executable, str(WORKER), "claim_all", str(tmp_path)]

    workers = [
        subprocess.Popen([*command, name], stdout=subprocess.PIPE, text=True) for name in ("one", "two", "three")
    ]
    taken = [line for each in workers for line in each.communicate(timeout=30)[0].split()]

    assert sorted(taken) == sorted(f"t{number}" for number in range(40))
    assert all(task.status == "in_progress" for task in RunFolder(folder.path).state().tasks)
    assert not replay(folder).drift.mismatch
