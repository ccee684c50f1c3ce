"""What the turns of one conversation are stored with."""

from __future__ import annotations

from dataclasses import dataclass

from commonplace.values.record import Trust
from commonplace.values.scope import Scope


@dataclass(frozen=True, kw_only=True, slots=True)
class TurnOptions:
    """What all turns of one `add_turns` share."""

    session: str
    scope: Scope | str = "global"
    source: str = "turn"
    trust: Trust = "system_generated"
    tags: tuple[str, ...] = ()
