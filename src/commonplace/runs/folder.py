"""
One run on disk: `run_state.json`, `events.jsonl`, `blackboard.json`, `blackboard_patches.jsonl`, `checkpoints/`.

A commit, under the run's lock: the state is brought up to the journal; the event is appended and made durable; the state is saved; the
patch is appended, with the event's `seq`; the blackboard is saved. The event holds all that the later steps need, so whichever of
them a killed process did not come to, the next one who takes the lock does. What is acknowledged is in the journal.

One `fsync` a commit: state, patch and blackboard can be made again. `created.json` is what they are made again from. A process keeps what it
read last, and knows by the size of the journal whether another has written since.
"""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Collection, Generator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from typing import Final, TypeVar

from pydantic import ValidationError
from pydantic_core import PydanticSerializationError

from commonplace.errors import InvalidInput, InvalidText, TextTooLarge
from commonplace.files.atomic import write_whole
from commonplace.files.locks import PATIENCE, locked_file
from commonplace.runs.blackboard import checked_patch, patched
from commonplace.runs.journal import RunJournal
from commonplace.runs.transitions import advanced, status_after
from commonplace.values.json import Json
from commonplace.values.moment import new_id, to_ms
from commonplace.values.run import (
    Blackboard,
    BlackboardPatch,
    Checkpoint,
    PatchDraft,
    RunCommit,
    RunEvent,
    RunEventDraft,
    RunState,
)
from commonplace.values.run_errors import RunBusy, RunDamaged, RunNotFound
from commonplace.wire.shapes import parsed, reader, to_json

T = TypeVar("T")

CREATED: Final = "created.json"
STATE: Final = "run_state.json"
EVENTS: Final = "events.jsonl"
BLACKBOARD: Final = "blackboard.json"
PATCHES: Final = "blackboard_patches.jsonl"
CHECKPOINTS: Final = "checkpoints"
LOCK: Final = "run.lock"

COMMANDS_KEPT: Final = 500
MOST_AT_ONCE: Final = 100
MOST_EVENT: Final = 1024 * 1024
PATCH: Final = "blackboard_patch"
"""Where the payload of an event holds its patch."""

_SMALL: Final = 64 * 1024
_GROWN: Final = 8

Decide = Callable[[RunState, Collection[str]], Sequence[RunEventDraft]]
"""From the run as it is, and the commands that were done already, to the events that are to be kept, under the lock."""

FaultPoint = Callable[[str], None]
"""Called after each step of a commit, by its name. Tests end the process there."""


def _nowhere(step: str) -> None:
    del step


@dataclass(slots=True)
class _Memory:
    """What this process knows of the run, and of which journal (its size) it is."""

    size: int
    state: RunState
    board: Blackboard
    commands: OrderedDict[str, RunEvent]
    board_bytes: int = 0
    unsaved_bytes: int = 0


class RunFolder:
    """Every method may raise RunNotFound, RunBusy, RunDamaged and OSError. They block: call them in a thread."""

    def __init__(self, path: Path, *, patience: float = PATIENCE, fault: FaultPoint = _nowhere) -> None:
        self.path = path
        self._events = RunJournal(path / EVENTS, RunEvent)
        self._patches = RunJournal(path / PATCHES, BlackboardPatch)
        self._patience = patience
        self._fault = fault
        self._own = threading.Lock()
        self._memory: _Memory | None = None

    # ---- read

    def state(self) -> RunState:
        with self._locked():
            return self._refreshed().state

    def blackboard(self) -> Blackboard:
        """With the tasks of the state."""
        with self._locked():
            memory = self._refreshed()
            return replace(memory.board, tasks=memory.state.tasks)

    def events(self, after: int = 0, *, most: int | None = None) -> list[RunEvent]:
        return self._events.after(after, most=most, end=self._last_known())

    def last_events(self, count: int) -> list[RunEvent]:
        return self._events.last(count)

    def patches(self, after: int = 0, *, most: int | None = None) -> list[BlackboardPatch]:
        return self._patches.after(after, most=most, end=self._last_known())

    def last_patches(self, count: int) -> list[BlackboardPatch]:
        return self._patches.last(count)

    def sizes(self) -> tuple[int, int]:
        """Of both journals: whoever follows them reads on once these have changed."""
        return self._events.size(), self._patches.size()

    def snapshot(self) -> tuple[RunState, Blackboard, list[RunEvent], list[BlackboardPatch]]:
        """The run as it is kept, and all of its journal, at one moment."""
        with self._locked():
            memory = self._refreshed()
            board = replace(memory.board, tasks=memory.state.tasks)
            return memory.state, board, self._events.after(0), self._patches.after(0)

    def birth(self) -> RunState:
        """The run as it was made, before its first event."""
        born = _read_if_whole(self.path / CREATED, RunState)
        if born is None:
            raise RunNotFound(run=self.path.name)
        return born

    # ---- write

    def commit(self, decide: Decide, now: datetime) -> RunCommit:
        """
        Keep the events that `decide` says. Those whose command was done already change nothing: for them the events of that time are
        answered, and if there are no others it is all `deduped`.

        Raises:
            InvalidInput, InvalidText, TextTooLarge: an event cannot be kept. None is, then.
        """
        with self._locked():
            memory = self._refreshed()
            drafts = decide(memory.state, memory.commands)
            if len(drafts) > MOST_AT_ONCE:
                raise InvalidInput(f"At most {MOST_AT_ONCE} events are kept at once.")
            state, events, lines = memory.state, list[RunEvent](), list[bytes]()
            answers: list[RunEvent] = []
            commands = dict(memory.commands)
            for draft in drafts:
                event = commands.get(draft.command_id or "")
                if event is None:
                    event = _event(state, draft, now)
                    lines.append(_line(event))
                    events.append(event)
                    state = advanced(state, event)
                    if event.command_id:
                        commands[event.command_id] = event
                answers.append(event)
            patches = self._keep(memory, state, events, lines)
            board = replace(memory.board, tasks=memory.state.tasks)
            return RunCommit(
                state=memory.state,
                blackboard=board,
                events=tuple(answers),
                patches=tuple(patches),
                deduped=bool(answers) and not events,
            )

    def _keep(
        self, memory: _Memory, state: RunState, events: Sequence[RunEvent], lines: Sequence[bytes]
    ) -> list[BlackboardPatch]:
        """The steps of a commit. If one fails, this process forgets what it knew, and the next commit repairs."""
        if not events:
            return []
        self._memory = None
        size = self._events.append(lines, durable=True)
        self._fault("event")
        self._save_state(state)
        self._fault("state")
        patches = [patch for event in events if (patch := _patch_of(event))]
        self._keep_patches(memory, patches)
        memory.state, memory.size = state, size
        _note_commands(memory.commands, events)
        if state.is_over and memory.unsaved_bytes:
            self._save_board(memory)
        self._memory = memory
        return patches

    def _keep_patches(self, memory: _Memory, patches: Sequence[BlackboardPatch]) -> None:
        if not patches:
            return
        lines = [to_json(patch) for patch in patches]
        self._patches.append(lines, durable=False)
        self._fault("patch")
        for patch in patches:
            memory.board = patched(memory.board, patch)
        memory.unsaved_bytes += sum(map(len, lines))
        # A large one is saved once it has grown by a good part, so that a patch costs the same however many came before it.
        if memory.board_bytes <= _SMALL or memory.unsaved_bytes * _GROWN >= memory.board_bytes:
            self._save_board(memory)
            self._fault("blackboard")

    def checkpoint(self, reason: str, now: datetime) -> Checkpoint:
        """Keep the run as it is now. A second one at the same event takes the place of the first."""
        with self._locked():
            memory = self._refreshed()
            checkpoint = Checkpoint(
                checkpoint_id=new_id(now),
                run_id=memory.state.run_id,
                seq=memory.state.last_event_seq,
                ts_ms=to_ms(now),
                reason=reason,
                run_state=memory.state,
                blackboard=replace(memory.board, tasks=memory.state.tasks),
            )
            folder = self.path / CHECKPOINTS
            folder.mkdir(mode=0o700, exist_ok=True)
            write_whole(folder / f"{checkpoint.seq:020}.json", to_json(checkpoint), durable=True)
            return checkpoint

    def checkpoint_seqs(self) -> list[int]:
        """Of which events there are checkpoints, the latest first."""
        try:
            names = [entry.name for entry in os.scandir(self.path / CHECKPOINTS)]
        except FileNotFoundError:
            return []
        stems = [name.removesuffix(".json") for name in names if name.endswith(".json")]
        return sorted((int(stem) for stem in stems if len(stem) == 20 and stem.isdecimal()), reverse=True)

    def read_checkpoint(self, seq: int) -> Checkpoint | None:
        """None: there is none at that event, or it cannot be read."""
        return _read_if_whole(self.path / CHECKPOINTS / f"{seq:020}.json", Checkpoint)

    def remove(self, trash: Path) -> None:
        """Take the run away, to `trash`: nobody who waits for its lock finds it any more."""
        with self._locked():
            self.path.rename(trash)
            self._memory = None

    # ---- under the lock

    @contextmanager
    def _locked(self) -> Generator[None]:
        if not self._own.acquire(timeout=self._patience):
            raise RunBusy(run=self.path.name)
        try:
            with locked_file(self.path / LOCK, self._patience):
                yield
        except FileNotFoundError as error:
            self._memory = None
            raise RunNotFound(run=self.path.name) from error
        except TimeoutError as error:
            raise RunBusy(run=self.path.name) from error
        finally:
            self._own.release()

    def _refreshed(self) -> _Memory:
        """What the files say, read again only if the journal has grown since."""
        memory = self._memory
        if memory is not None and memory.size == self._events.size():
            return memory
        self._events.repair()
        self._patches.repair()
        self._memory = memory = self._read()
        return memory

    def _read(self) -> _Memory:
        tail = self._events.last(COMMANDS_KEPT)
        end = tail[-1].seq if tail else 0
        saved = _read_if_whole(self.path / STATE, RunState)
        last_patch = self._patches.last(1)
        ahead = max(saved.last_event_seq if saved else 0, last_patch[0].seq if last_patch else 0)
        if ahead > end:
            self._cut_back(end, ahead)
            saved = None
        state = saved or self.birth()
        if tail and tail[0].seq > state.last_event_seq + 1:
            later = self._events.after(state.last_event_seq)
        else:
            later = [event for event in tail if event.seq > state.last_event_seq]
        for event in later:
            state = advanced(state, event)
        if saved is None or later:
            self._save_state(state)
        memory = _Memory(self._events.size(), state, Blackboard(), OrderedDict())
        _note_commands(memory.commands, tail)
        self._read_board(memory, tail)
        return memory

    def _cut_back(self, end: int, ahead: int) -> None:
        """The journal lost its last line after all, and is the truth: what was made from that line goes, too."""
        if ahead - end > MOST_AT_ONCE:
            raise RunDamaged(run=self.path.name, file=EVENTS)
        patches = [patch for patch in self._patches.after(0) if patch.seq <= end]
        write_whole(self.path / PATCHES, b"".join(to_json(patch) + b"\n" for patch in patches), durable=False)
        (self.path / BLACKBOARD).unlink(missing_ok=True)

    def _read_board(self, memory: _Memory, tail: Sequence[RunEvent]) -> None:
        """The blackboard, with the patches that it lacks, and with those that a killed process did not come to append."""
        saved = _read_if_whole(self.path / BLACKBOARD, Blackboard)
        memory.board = saved or Blackboard()
        memory.board_bytes = _size(self.path / BLACKBOARD)
        last = self._patches.last(1)
        end = last[0].seq if last else 0
        for patch in self._patches.after(memory.board.revision, end=end):
            memory.board = patched(memory.board, patch)
        missing = [patch for event in tail if event.seq > end and (patch := _patch_of(event))]
        if missing:
            self._keep_patches(memory, missing)
        elif saved is None or saved.revision != memory.board.revision:
            self._save_board(memory)

    def _save_state(self, state: RunState) -> None:
        write_whole(self.path / STATE, to_json(state), durable=False)

    def _save_board(self, memory: _Memory) -> None:
        data = to_json(replace(memory.board, tasks=()))
        write_whole(self.path / BLACKBOARD, data, durable=False)
        memory.board_bytes, memory.unsaved_bytes = len(data), 0

    def _last_known(self) -> int | None:
        memory = self._memory
        return None if memory is None else memory.state.last_event_seq


def these(drafts: Sequence[RunEventDraft]) -> Decide:
    """These events, however the run is."""

    def decide(state: RunState, commands: Collection[str]) -> Sequence[RunEventDraft]:
        del state, commands
        return drafts

    return decide


def _note_commands(commands: OrderedDict[str, RunEvent], events: Sequence[RunEvent]) -> None:
    """Those of the last 500 events."""
    for event in events:
        if event.command_id:
            commands[event.command_id] = event
    if events:
        oldest = events[-1].seq - COMMANDS_KEPT
        while commands and next(iter(commands.values())).seq <= oldest:
            commands.popitem(last=False)


def _event(state: RunState, draft: RunEventDraft, now: datetime) -> RunEvent:
    if PATCH in draft.payload:
        raise InvalidInput(f"`{PATCH}` in the payload of an event is ours. Send a patch of its own.")
    payload: dict[str, Json] = dict(draft.payload)
    if draft.patch is not None:
        patch = checked_patch(draft.patch)
        payload[PATCH] = {"patch_id": new_id(now), "op": patch.op, "payload": dict(patch.payload)}
    return RunEvent(
        event_id=new_id(now),
        run_id=state.run_id,
        seq=state.last_event_seq + 1,
        ts_ms=to_ms(now),
        type=draft.type,
        status=status_after(state, draft),
        revision=state.revision + 1,
        step_id=draft.step_id,
        task_id=draft.task_id,
        command_id=draft.command_id,
        payload=payload,
    )


def _line(event: RunEvent) -> bytes:
    try:
        line = to_json(event)
        # What cannot be read again must not get into the journal.
        reader(RunEvent)(line)
    except (PydanticSerializationError, ValidationError, UnicodeError) as error:
        raise InvalidText(
            "The event holds what JSON cannot: a lone surrogate, or something that is no value."
        ) from error
    if len(line) > MOST_EVENT:
        raise TextTooLarge(
            f"An event has at most {MOST_EVENT >> 10:,} KiB. Keep the rest as an artifact and name that."
        )
    return line


def _patch_of(event: RunEvent) -> BlackboardPatch | None:
    intent = event.payload.get(PATCH)
    if not isinstance(intent, dict):
        return None
    draft = parsed(PatchDraft, {"op": intent.get("op"), "payload": intent.get("payload")})
    return BlackboardPatch(
        patch_id=str(intent.get("patch_id")),
        run_id=event.run_id,
        seq=event.seq,
        ts_ms=event.ts_ms,
        source_event_seq=event.seq,
        op=draft.op,
        payload=draft.payload,
    )


def patches_of(events: Sequence[RunEvent]) -> Mapping[int, BlackboardPatch]:
    """The patches that came with these events, by their `seq`."""
    return {event.seq: patch for event in events if (patch := _patch_of(event))}


def _read_if_whole(path: Path, shape: type[T]) -> T | None:
    """None: there is no such file, or a loss of power left one that is not whole. It can be made again."""
    with suppress(FileNotFoundError, ValidationError):
        if path.is_symlink():
            raise RunDamaged("A file of the run is a link.", file=path.name)
        return reader(shape)(path.read_bytes())
    return None


def _size(path: Path) -> int:
    with suppress(FileNotFoundError):
        return path.stat().st_size
    return 0
