"""The layers of a text: L0 is an abstract, L1 an overview, L2 the text itself."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from commonplace.values.json import JsonObject, Natural

LayerName = Literal["L0", "L1", "L2"]
LayerChoice = Literal["L0", "L1", "L2", "auto"]
"""`auto`: the fullest that fits, the best hits first."""


@dataclass(frozen=True, kw_only=True, slots=True)
class LayerText(JsonObject):
    """A text as one of its layers tells it, and whether sentences of its own (`rules`) or a model tell it."""

    name: LayerName
    text: str
    tokens: Natural
    method: Literal["rules", "model"] = "rules"
