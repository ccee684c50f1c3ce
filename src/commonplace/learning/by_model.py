"""Talk becomes memory, by a model, within the limits of the rules: as many facts, as sure, and as careful about what is not to be kept."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Final, cast, get_args

from commonplace.guard.caution import is_secret, is_suspect
from commonplace.learning.extract import CONFIDENCE, MOST, PREFIX, READ, Fact, key_of, voice_of
from commonplace.learning.prompting import EXTRACT, Proposed, proposed, told_to_model
from commonplace.learning.rules.finding import Category
from commonplace.learning.times import resolved
from commonplace.ports.models import LanguageModel, Limits, Spent, Task
from commonplace.text.analyse import terms
from commonplace.text.slug import slug
from commonplace.values.record import Record, Turn

SHOWN: Final = 20
"""How many of the facts known already a model is shown."""
MICRO_USD: Final = 30_000
"""What one reading may cost."""
LONGEST: Final = 2_000
SECONDS: Final = 60.0
OUTPUT_TOKENS: Final = 1_500
PURPOSE: Final = "extract"


class ByModel:
    """`session` is the name that the money is kept under; `agent` and `workspace` say for whom it was."""

    def __init__(
        self,
        model: LanguageModel,
        *,
        tenant: str,
        session: str,
        agent: str | None = None,
        workspace: str | None = None,
    ) -> None:
        self._model = model
        self._tenant = tenant
        self._session = session
        self._agent = agent
        self._workspace = workspace

    async def facts(
        self,
        turns: Sequence[Turn],
        known: Sequence[Record],
        *,
        micro_usd: int = MICRO_USD,
        assistants: Collection[str] = (),
    ) -> tuple[list[Fact], Spent]:
        """
        The facts that `turns` tell. `known` are the records to be shown, the most recent first.

        Raises:
            ModelError, SpendingCapReached
        """
        shown = known[:SHOWN]
        task = Task(
            tenant=self._tenant,
            purpose=PURPOSE,
            session=self._session,
            system=EXTRACT,
            prompt=told_to_model(turns, [record.text for record in shown], READ),
            limits=Limits(seconds=SECONDS, output_tokens=OUTPUT_TOKENS, micro_usd=micro_usd, turns=1),
            agent=self._agent,
            workspace=self._workspace,
        )
        done = await self._model.act(task, ())
        sure = [one for one in proposed(done.text) if one.confidence is None or one.confidence >= CONFIDENCE]
        made = [_fact(one, turns, shown, assistants) for one in sure[:MOST]]
        return [fact for fact in made if fact is not None], done.spent


def _fact(one: Proposed, turns: Sequence[Turn], shown: Sequence[Record], assistants: Collection[str]) -> Fact | None:
    """None: it is a secret, an order to an agent, or nobody's own words."""
    value = " ".join(one.value.split())[:LONGEST]
    place = one.turn - 1 if one.turn is not None and 1 <= one.turn <= len(turns) else _told_by(value, turns)
    voice = voice_of(turns[place], assistants)
    if not value or is_suspect(value) or is_secret(value) or voice.role == "other":
        return None
    told = turns[place].at
    text, at = resolved(value, told) if told is not None else (value, None)
    replaces = shown[one.replaces - 1].id if one.replaces is not None and 1 <= one.replaces <= len(shown) else None
    return Fact(
        text=text[:LONGEST],
        key=_key(one.key, text),
        category=cast(Category, one.category) if one.category in get_args(Category) else "fact",
        scope=one.scope if one.scope in ("agent", "workspace", "user") else "agent",
        confidence=CONFIDENCE if one.confidence is None else round(min(one.confidence, 1.0), 2),
        turn=place,
        at=at,
        method="model",
        replaces=replaces,
        voice=voice.role,
    )


def _key(named: str, text: str) -> str:
    """The slug that the model proposes; one without a letter we know says nothing, so the text is named instead."""
    plain = slug(named.removeprefix(PREFIX), empty="")
    return f"{PREFIX}{plain}" if plain else key_of(text)


def _told_by(value: str, turns: Sequence[Turn]) -> int:
    """The turn that shares the most words with it."""
    words = set(terms(value))
    return max(range(len(turns)), key=lambda place: len(words.intersection(terms(turns[place].text))))
