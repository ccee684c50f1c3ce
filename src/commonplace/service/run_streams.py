"""
What happens in several runs, as it happens: first what a listener has missed, by its cursor, then what comes.

Commits of this process wake the listeners; those of other processes over the same home folder are seen in the sizes of the journals, twice
a second.
"""

from __future__ import annotations

import asyncio
import binascii
import json
from base64 import b64decode, urlsafe_b64encode
from collections.abc import AsyncGenerator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, Final, cast

from commonplace.errors import CommonplaceError, Forbidden, InvalidInput, TooManyListeners
from commonplace.governance.access import require_role
from commonplace.values.run import BlackboardPatch, RunEnvelope, RunEvent
from commonplace.values.run_errors import RunNotFound

if TYPE_CHECKING:
    from commonplace.runs.folder import RunFolder
    from commonplace.service.desk import Desk
    from commonplace.service.runs import Runs
    from commonplace.values.principal import Principal

MOST_FOLLOWED: Final = 100
MOST_LISTENERS: Final = 64
KEEP_ALIVE: Final = 10.0
_LOOK_EVERY: Final = 0.5
_LIST_EVERY: Final = 2.0
_AT_ONCE: Final = 500
_LONGEST_CURSOR: Final = 64 * 1024


@dataclass(frozen=True, kw_only=True, slots=True)
class RunCursor:
    """The last `seq` that a listener has, of the events and of the patches of each run."""

    events: dict[str, int] = field(default_factory=dict[str, int])
    patches: dict[str, int] = field(default_factory=dict[str, int])

    @classmethod
    def parse(cls, text: str | None) -> RunCursor:
        """Raises InvalidInput: it is none of ours."""
        if not text:
            return cls()
        try:
            if len(text) > _LONGEST_CURSOR:
                raise ValueError
            plain = text.translate(_URL_SAFE)
            document = json.loads(b64decode(plain + "=" * (-len(plain) % 4), altchars=b"-_", validate=True))
            return cls(events=_seqs(document, "events"), patches=_seqs(document, "patches"))
        except (ValueError, binascii.Error, RecursionError):
            raise InvalidInput("The cursor is none of ours. Leave it out to begin anew.") from None

    def __str__(self) -> str:
        document = json.dumps({"events": self.events, "patches": self.patches}, separators=(",", ":"))
        return urlsafe_b64encode(document.encode()).decode().rstrip("=")

    def after(self, envelope: RunEnvelope) -> RunCursor:
        if envelope.kind == "context_run_event":
            return replace(self, events={**self.events, envelope.run_id: envelope.seq})
        return replace(self, patches={**self.patches, envelope.run_id: envelope.seq})


_URL_SAFE: Final = str.maketrans("+/", "-_", "=")


def _seqs(document: Any, name: str) -> dict[str, int]:
    if not isinstance(document, dict):
        raise ValueError
    rows = cast("dict[str, Any]", document).get(name, {})
    if not isinstance(rows, dict):
        raise ValueError
    seqs = cast("dict[str, Any]", rows)
    if not all(type(seq) is int and seq >= 0 for seq in seqs.values()):
        raise ValueError
    return seqs


@dataclass(frozen=True, kw_only=True, slots=True)
class FollowedRuns:
    """
    Which runs: those named, else the caller's own in `workspace`, those that come later too. `tail`: how many rows of what is past, of runs
    that the cursor does not name; None: all.
    """

    run_ids: tuple[str, ...] = ()
    workspace: str | None = None
    cursor: RunCursor = field(default_factory=RunCursor)
    tail: int | None = None
    patches: bool = True


class RunStreams:
    def __init__(self, desk: Desk, runs: Runs) -> None:
        self._desk = desk
        self._runs = runs
        self._listeners = 0
        self._closed = False

    def close(self) -> None:
        """No stream goes on: the process stops."""
        self._closed = True

    async def begin(self, who: Principal, following: FollowedRuns) -> tuple[str, ...]:
        """
        The runs that the caller will hear of, all of them theirs to see.

        Raises:
            RunNotFound, RunsUnavailable: a run that was named is not.
            InvalidInput: too many are named, or nothing is.
            TooManyListeners: every place is taken.
        """
        require_role(who, "reader")
        if self._listeners >= MOST_LISTENERS:
            raise TooManyListeners(retry_after=5)
        if len(following.run_ids) > MOST_FOLLOWED:
            raise InvalidInput(f"Name at most {MOST_FOLLOWED} runs.")
        if following.tail is not None and not 0 <= following.tail <= _AT_ONCE:
            raise InvalidInput(f"tail is 0 to {_AT_ONCE}.")
        for run_id in following.run_ids:
            await self._runs.get(who, run_id)
        return following.run_ids or await self._in_workspace(who, following.workspace)

    async def follow(
        self, who: Principal, following: FollowedRuns, *, keep_alive: float = KEEP_ALIVE
    ) -> AsyncGenerator[Sequence[RunEnvelope]]:
        """
        Portions of what happens, in order, without an end. An empty one comes when nothing has happened for `keep_alive` seconds, and
        once the key still opens something. Begin it with `begin`.
        """
        now = asyncio.get_running_loop().time
        reader = _Reader(self._runs, who, following)
        self._listeners += 1
        try:
            beat, listed = now() + keep_alive, -_LIST_EVERY
            with self._runs.watched() as wake:
                while not self._closed:
                    wake.clear()
                    if not following.run_ids and now() - listed >= _LIST_EVERY:
                        reader.run_ids, listed = await self._in_workspace(who, following.workspace), now()
                    portion = await asyncio.to_thread(reader.portion)
                    if portion:
                        yield portion
                        continue
                    if now() >= beat:
                        if not await self._is_welcome(who):
                            return
                        yield ()
                        beat = now() + keep_alive
                    with suppress(TimeoutError):
                        async with asyncio.timeout(_LOOK_EVERY):
                            await wake.wait()
        finally:
            self._listeners -= 1

    async def _in_workspace(self, who: Principal, workspace: str | None) -> tuple[str, ...]:
        cards = [card for card in await self._runs.cards(who) if workspace is None or card.workspace == workspace]
        return tuple(card.run_id for card in cards[:MOST_FOLLOWED])

    async def _is_welcome(self, who: Principal) -> bool:
        session = who.session
        if session is not None and self._desk.clock.now() >= session.ends_at:
            return False
        if session is not None and await self._desk.store.keys.is_over(session):
            return False
        try:
            await self._desk.require_good(who, "run.listen")
        except Forbidden:
            return False
        return True


class _Reader:
    """Reads the journals on from where it was. It blocks."""

    def __init__(self, runs: Runs, who: Principal, following: FollowedRuns) -> None:
        self._runs = runs
        self._who = who
        self._following = following
        self._events = dict(following.cursor.events)
        self._patches = dict(following.cursor.patches)
        self._sizes: dict[str, tuple[int, int]] = {}
        self._workspaces: dict[str, str] = {}
        self.run_ids = following.run_ids

    def portion(self) -> list[RunEnvelope]:
        envelopes: list[RunEnvelope] = []
        for run_id in self.run_ids:
            # A run that somebody deletes is heard of no more; one that cannot be read keeps nobody from hearing of the others.
            with suppress(CommonplaceError, OSError):
                envelopes += self._of_run(run_id)
        return sorted(envelopes, key=lambda row: (row.ts_ms, row.run_id, row.seq, row.kind == "blackboard_patch"))

    def _of_run(self, run_id: str) -> list[RunEnvelope]:
        folder = self._runs.folder(self._who, run_id)
        sizes = folder.sizes()
        if self._sizes.get(run_id) == sizes:
            return []
        if run_id not in self._workspaces:
            born = folder.birth()
            if born.owner != self._who.subject and run_id not in self._following.run_ids:
                raise RunNotFound(run=run_id)
            self._workspaces[run_id] = born.workspace.workspace_id
        events = self._new_events(folder, run_id)
        patches = self._new_patches(folder, run_id) if self._following.patches else []
        # Read on at once where a page was full.
        if max(len(events), len(patches)) < _AT_ONCE:
            self._sizes[run_id] = sizes
        return [self._envelope(run_id, row) for row in (*events, *patches)]

    def _new_events(self, folder: RunFolder, run_id: str) -> list[RunEvent]:
        after, tail = self._events.get(run_id), self._following.tail
        if after is None and tail is not None:
            rows = folder.last_events(max(tail, 1))
            self._events[run_id] = rows[-1].seq if rows else 0
            return rows if tail else []
        rows = folder.events(after or 0, most=_AT_ONCE)
        if rows or after is None:
            self._events[run_id] = rows[-1].seq if rows else 0
        return rows

    def _new_patches(self, folder: RunFolder, run_id: str) -> list[BlackboardPatch]:
        after, tail = self._patches.get(run_id), self._following.tail
        if after is None and tail is not None:
            rows = folder.last_patches(max(tail, 1))
            self._patches[run_id] = rows[-1].seq if rows else 0
            return rows if tail else []
        rows = folder.patches(after or 0, most=_AT_ONCE)
        if rows or after is None:
            self._patches[run_id] = rows[-1].seq if rows else 0
        return rows

    def _envelope(self, run_id: str, row: RunEvent | BlackboardPatch) -> RunEnvelope:
        return RunEnvelope(
            kind="context_run_event" if isinstance(row, RunEvent) else "blackboard_patch",
            run_id=run_id,
            workspace=self._workspaces[run_id],
            seq=row.seq,
            ts_ms=row.ts_ms,
            payload=row,
        )
