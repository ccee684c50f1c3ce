"""What waits for a reviewer, and what is taken back of one source."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from typing import Literal

from commonplace.errors import InvalidInput
from commonplace.values.json import JsonObject, Natural
from commonplace.values.moment import Moment
from commonplace.values.record import Record
from commonplace.values.scope import Scope

StepKind = Literal["deleted", "set_back", "left"]


@dataclass(frozen=True, kw_only=True, slots=True)
class Waiting(JsonObject):
    """
    A record in quarantine, why and since when; `sentence` is the one that caused it. `beside` is the record that it would have
    changed, under `key`.
    """

    record: Record
    reasons: tuple[str, ...]
    sentence: str | None = None
    since: str | None = None
    beside: str | None = None
    key: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class WaitingFinding(JsonObject):
    """An item of knowledge in quarantine, why and since when; `sentence` is the one that caused it."""

    id: str
    space: str
    scope: Scope
    coverage_key: str
    title: str
    summary: str
    reasons: tuple[str, ...]
    since: Moment
    sentence: str | None = None


@dataclass(frozen=True, slots=True)
class WaitingPage(JsonObject):
    """
    `cursor` continues it; None is the end. The first page has the newest thousand `findings` as well, and how many there are in
    all, `findings` included.
    """

    waiting: tuple[Waiting, ...]
    cursor: str | None
    findings: tuple[WaitingFinding, ...] = ()
    total: Natural | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class Origin:
    """
    Who or what wrote what is to be taken back: exactly one of a source, a session, an actor (or speaker), the namespace of an
    import, or an earlier rollback; from `since` on, where it is given.
    """

    source: str | None = None
    session: str | None = None
    actor: str | None = None
    imported: str | None = None
    rollback: str | None = None
    since: datetime | None = None

    def __post_init__(self) -> None:
        criteria = (self.source, self.session, self.actor, self.imported, self.rollback)
        if sum(criterion is not None for criterion in criteria) != 1:
            raise InvalidInput("Name exactly one: a source, a session, an actor, an import or a rollback.")


@dataclass(frozen=True, kw_only=True, slots=True)
class RollbackStep(JsonObject):
    """
    What becomes of a record: deleted, set back to the content of version `to`, or left as it is, and `why`. `version` is the
    one it stands at before.
    """

    id: str
    scope: str
    kind: StepKind
    version: int
    to: int | None = None
    why: str | None = None


@dataclass(frozen=True, kw_only=True, slots=True)
class RolledBack(JsonObject):
    """`id` takes all of it back again. A dry run only says what would be done, and has none."""

    id: str | None
    deleted: Natural
    set_back: Natural
    left: Natural
    steps: tuple[RollbackStep, ...]
