"""What came of reading a conversation for facts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Literal, TypedDict

from commonplace.values.record import Record
from commonplace.values.scope import Scope

ExtractionStatus = Literal["extracted", "no_extraction", "skipped_short_conversation", "queued"]


class TalkFields(TypedDict, total=False):
    """
    What a conversation has to do with. The first of `agents` learns how to work, `workspace` what the project is, `scope`
    what is for neither. `recalled` are ids of records that were shown in it, which are not learned again; so are those that
    were recalled into its `run` or its `session`. `at` is when it was, where its turns do not say so themselves.
    """

    session: str | None
    agents: Sequence[str]
    workspace: str | None
    scope: Scope | str | None
    run: str | None
    recalled: Sequence[str]
    at: datetime | None


@dataclass(frozen=True, kw_only=True, slots=True)
class Extracted:
    """
    `facts` are the records that were written, `superseded` the ids of those they took the place of. `dropped` counts what
    was found and not kept, by the reason. `fallback` is the code of the error for which a model was not used. With the
    status `queued` it is being worked on, and `job` says where to look.
    """

    status: ExtractionStatus
    method: Literal["rules", "model"] = "rules"
    fallback: str | None = None
    facts: tuple[Record, ...] = ()
    superseded: tuple[str, ...] = ()
    dropped: Mapping[str, int] = field(default_factory=dict[str, int])
    job: str | None = None
