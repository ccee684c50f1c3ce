"""Talk becomes memory, as the clients have it."""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from typing import Unpack

from commonplace.sdk.calls import extraction
from commonplace.sdk.spending import AsyncSpender, Spender
from commonplace.values.extraction import Extracted, TalkFields
from commonplace.values.record import Record, Turn


class AsyncExtractor(AsyncSpender):
    async def extract(
        self,
        talk: str | Sequence[Turn] | None = None,
        *,
        wait: bool = True,
        **told: Unpack[TalkFields],
    ) -> Extracted:
        """
        Learn from a finished conversation: turns, a transcript whose lines say who speaks, or (None) what is kept of its
        `session`. Say whose memory it is for: `agents`, `workspace`, `scope`. Without `wait` the answer says which job does it.
        """
        return await self._run(extraction.extract(talk, told, wait=wait))

    async def learn(self, agents: Sequence[str], learning: str, *, run: str | None = None) -> Record:
        """Keep what a director learned in a run of these agents, with the first of them."""
        return await self._run(extraction.learn(agents, learning, run))

    async def learnings(self, agents: Sequence[str]) -> builtins.list[Record]:
        """What was learned in runs of these agents, the newest 20."""
        return await self._run(extraction.learnings(agents))


class Extractor(Spender):
    def extract(
        self,
        talk: str | Sequence[Turn] | None = None,
        *,
        wait: bool = True,
        **told: Unpack[TalkFields],
    ) -> Extracted:
        """
        Learn from a finished conversation: turns, a transcript whose lines say who speaks, or (None) what is kept of its
        `session`. Say whose memory it is for: `agents`, `workspace`, `scope`. Without `wait` the answer says which job does it.
        """
        return self._run(extraction.extract(talk, told, wait=wait))

    def learn(self, agents: Sequence[str], learning: str, *, run: str | None = None) -> Record:
        """Keep what a director learned in a run of these agents, with the first of them."""
        return self._run(extraction.learn(agents, learning, run))

    def learnings(self, agents: Sequence[str]) -> builtins.list[Record]:
        """What was learned in runs of these agents, the newest 20."""
        return self._run(extraction.learnings(agents))
