"""How far a store is with its embedders."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commonplace.values.json import JsonObject, Natural

EmbedderStage = Literal["active", "coming", "leaving"]
SwitchState = Literal["settled", "queued", "running", "failed"]


@dataclass(frozen=True, kw_only=True, slots=True)
class EmbedderStatus(JsonObject):
    """
    `active` embedders answer searches. While the store changes over, `coming` ones are given vectors of all texts, `count` of `total` so far,
    and `leaving` ones are about to be dropped. `error` says why the last change failed.
    """

    active: tuple[str, ...]
    coming: tuple[str, ...] = ()
    leaving: tuple[str, ...] = ()
    state: SwitchState = "settled"
    count: Natural = 0
    total: Natural = 0
    error: str | None = None
