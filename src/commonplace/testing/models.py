"""A language model that says what a test wrote for it, and tasks to give to one."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, TypeAlias, TypeVar

from pydantic import BaseModel, ValidationError

from commonplace.errors import CommonplaceError, ModelMalformed
from commonplace.ports.models import Done, ModelAnswer, ModelQuestion, Spent, Task, TaskLimits, Tool
from commonplace.values.scope import DEFAULT_TENANT

T = TypeVar("T", bound=BaseModel)

Working: TypeAlias = Callable[[Mapping[str, Tool]], Awaitable[str]]
"""What a scripted model does with its tools, which it finds by their names, and its closing words."""

Line: TypeAlias = BaseModel | Mapping[str, Any] | str | Working | CommonplaceError


class ScriptedModel:
    """
    Satisfies `LanguageModel`, for nothing. The script has a line a task: the answer, or its fields; closing words, or what
    to do with the tools before them; or an error to end with. `tasks` are those it was given.
    """

    name = "scripted"

    def __init__(self, *script: Line) -> None:
        self._script = list(script)
        self.tasks: list[Task] = []

    async def answer(self, question: ModelQuestion[T]) -> ModelAnswer[T]:
        line = self._next(question)
        try:
            value = question.schema.model_validate(line, from_attributes=True)
        except ValidationError as error:
            raise ModelMalformed from error
        return ModelAnswer(value=value, spent=Spent(model=self.name))

    async def act(self, task: Task, tools: Sequence[Tool]) -> Done:
        line = self._next(task)
        if callable(line):
            line = await line({_name(tool): tool for tool in tools})
        return Done(text=str(line), spent=Spent(model=self.name))

    def _next(self, task: Task) -> BaseModel | Mapping[str, Any] | str | Working:
        self.tasks.append(task)
        assert self._script, "The script has no line left for this task."
        line = self._script.pop(0)
        if isinstance(line, CommonplaceError):
            raise line
        return line


def _name(tool: Tool) -> str:
    return str(getattr(tool, "__name__", tool))


# ---- tasks


class MovedFact(BaseModel):
    """A fact that is worth keeping."""

    text: str
    confidence: float


def question(
    prompt: str = "Ana moved to Kyiv.", *, tenant: str = DEFAULT_TENANT, **limits: Any
) -> ModelQuestion[MovedFact]:
    """One that takes five seconds and a hundred tokens at most, unless `limits` say otherwise."""
    return ModelQuestion(
        tenant=tenant,
        purpose="extract",
        session="memory-extract:s1",
        system="Find the fact.",
        prompt=prompt,
        agent="bo",
        workspace="web",
        limits=_limits(limits),
        schema=MovedFact,
    )


def task(prompt: str = "Tidy up.", *, tenant: str = DEFAULT_TENANT, **limits: Any) -> Task:
    return Task(
        tenant=tenant,
        purpose="remember",
        session="memory-remember:t1",
        system="Use the tools.",
        prompt=prompt,
        limits=_limits(limits),
    )


def _limits(given: Mapping[str, Any]) -> TaskLimits:
    told: dict[str, Any] = {"seconds": 5.0, "output_tokens": 100, **given}
    return TaskLimits(**told)
