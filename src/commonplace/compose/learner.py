"""What a memory inside a program can beside keeping what it is given: learn from talk, and file facts in Markdown."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import TYPE_CHECKING, Unpack

from commonplace.compose.embedders import Chosen
from commonplace.compose.stores import Opened
from commonplace.ports.clock import Clock
from commonplace.values.extraction import Extracted, TalkFields
from commonplace.values.record import Turn
from commonplace.values.task import ContextMode, MemoryTask, TargetScope

if TYPE_CHECKING:
    from commonplace.compose.learn import Learning


class AsyncLearner(ABC):
    _opened: Opened
    _chosen: Chosen
    _clock: Clock
    _tenant: str
    _actor: str | None
    _learning: Learning | None = None

    @abstractmethod
    async def _ready(self) -> None:
        """Raises StoreClosed."""

    async def extract(
        self,
        talk: str | Sequence[Turn] | None = None,
        *,
        wait: bool = True,
        **told: Unpack[TalkFields],
    ) -> Extracted:
        """
        Learn from a finished conversation: turns, a transcript whose lines say who speaks, or (None) what is kept of its
        `session`. Say whose memory it is for: `agents`, `workspace`, `scope`. By the language model of the settings, else by
        rules; it is waited for in any case.
        """
        del wait
        await self._ready()
        return await (await self._learned()).extract(talk, told)

    async def remember_workspace_memory(
        self, content: str, *, context_mode: ContextMode = "workspace", scope: TargetScope | None = None
    ) -> MemoryTask:
        """
        Hand over a fact, to be filed in Markdown: in the home folder, or with the workspace around the current folder. Where that
        takes longer than 20 seconds, poll the task until it `is_over`. In the mode `clean` no existing memory is looked at.
        """
        await self._ready()
        return await (await self._learned()).remember(content, context_mode, scope)

    async def get_workspace_memory_remember_task(self, id: str, *, wait: float = 0.0) -> MemoryTask:
        """How it goes: as soon as it `is_over`, or after `wait` seconds."""
        await self._ready()
        return await (await self._learned()).task(id, wait)

    async def _learned(self) -> Learning:
        if self._learning is None:
            # Settings and models load slowly, and few programs need them.
            from commonplace.compose.learn import Learning, Owner  # noqa: PLC0415

            owner = Owner(tenant=self._tenant, actor=self._actor)
            made = await Learning.over(self._opened.store, self._chosen, self._clock, owner)
            # Somebody else may have been faster.
            self._learning, made = (made, None) if self._learning is None else (self._learning, made)
            if made is not None:
                await made.aclose()
        return self._learning

    async def _unlearn(self) -> None:
        if self._learning is not None:
            await self._learning.aclose()
