"""A model that reads and writes language, as the engines see it: it answers a question, or works at a task with tools."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import timedelta
from typing import Generic, Protocol, TypeAlias, TypeVar

from pydantic import BaseModel

T = TypeVar("T", bound=BaseModel)

Tool: TypeAlias = Callable[..., Awaitable[str]]
"""
An async function whose name, docstring and typed arguments are what the model sees, and whose text it is told. A
CommonplaceError that it raises is told to the model, which may try otherwise; any other error ends the task.
"""


@dataclass(frozen=True, kw_only=True, slots=True)
class Pot:
    """
    Money that several tasks share, those of a second attempt after a crash, too: they name the same pot. `cap` is what it is
    called if it refuses (`session`, `room`, `tenant`). It is full again when it was first used so long ago as it `lasts`.
    `micro_usd` None: money is only counted; `tokens`: how many it has.
    """

    name: str
    micro_usd: int | None
    cap: str = "pot"
    lasts: timedelta = timedelta(days=2)
    tokens: int | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class TaskLimits:
    """
    What a task may take. `seconds` and `micro_usd` are for all of it, `output_tokens` for each answer of the model, and
    `turns` says how often it may be asked where it has tools. Without `micro_usd` only the budget of the day counts, and what
    is in the `pots`: each call is charged to all of them.
    """

    seconds: float = 60.0
    output_tokens: int = 1_024
    micro_usd: int | None = None
    turns: int = 6
    pots: tuple[Pot, ...] = ()


@dataclass(frozen=True, kw_only=True, slots=True)
class Task:
    """
    `system` is ours: what to do. `prompt` is what to do it with, and is data, also where it reads like an instruction: say
    so in `system`, and fence it. Both are scrubbed of secrets before a model sees them. `purpose` and `session` say what
    the money was for (see `values.usage.work_session`).
    """

    tenant: str
    purpose: str
    session: str
    system: str
    prompt: str
    limits: TaskLimits = TaskLimits()
    agent: str | None = None
    workspace: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelQuestion(Task, Generic[T]):
    """A task whose answer has the form of `schema`."""

    schema: type[T]


@dataclass(frozen=True, kw_only=True, slots=True)
class Spent:
    """
    What a task took: calls that were answered, tokens, and money. `cached_tokens` are those of the input that the vendor had read before,
    `thought_tokens` those of the output that nobody is told.
    """

    model: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cached_tokens: int = 0
    thought_tokens: int = 0
    cost_micro_usd: int = 0


@dataclass(frozen=True, kw_only=True, slots=True)
class ModelAnswer(Generic[T]):
    value: T
    spent: Spent


@dataclass(frozen=True, kw_only=True, slots=True)
class Done:
    """The model's closing words. Not `finished`: it ran out of turns, and what its tools did stays done."""

    text: str
    spent: Spent
    finished: bool = True


class LanguageModel(Protocol):
    """
    `tests/engine/llms` holds each implementation to this.

    Both raise:
        ModelUnavailable: nobody answers, or not now. Worth another try.
        ModelRefused: the key, the request or what it says is not accepted. The same again will not be, either.
        ModelTimeout: it took longer than its limit.
        ModelMalformed: what came back is not what was asked for.
        SpendingCapReached: it might cost more than the task, one of its pots or the day has left. The model was not called.
    """

    async def answer(self, question: ModelQuestion[T]) -> ModelAnswer[T]: ...

    async def act(self, task: Task, tools: Sequence[Tool]) -> Done:
        """Let the model use the tools, one at a time, until it has nothing more to do."""
        ...
