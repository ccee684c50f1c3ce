"""
What the rooms of one channel may spend: declined when it is used up, warned of before, shown when somebody asks.

Two budgets hold for a turn, and the strictest wins: the room's, and what chat may cost the tenant in a day, which the purse watches
(`llms/purse.py`). A turn that has begun is finished.
"""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING

from commonplace.channels.budget import (
    BudgetWarning,
    RoomSpending,
    day_spending,
    is_first_notice,
    room_spending,
    threshold_passed,
)
from commonplace.channels.parts import Target
from commonplace.channels.phrases import CHINESE, ENGLISH, RoomPhrases
from commonplace.ports.channel import Outgoing
from commonplace.ports.journal import Entries
from commonplace.values.channel import ChatRoom, room_scope
from commonplace.values.json import Json
from commonplace.values.principal import Principal
from commonplace.values.usage import to_usd

if TYPE_CHECKING:
    # Each holds the other.
    from commonplace.channels.residence import Residence


class RoomBudgets:
    def __init__(self, residence: Residence) -> None:
        self._residence = residence

    async def of_room(self, chat: str) -> RoomSpending | None:
        """What the room has spent in the window that is running; None: it has no budget."""
        residence = self._residence
        budget = residence.profile.settings.for_room(chat).budget
        if budget is None:
            return None
        scope = room_scope(residence.profile.name, chat)
        return await room_spending(residence.parts.quotas, residence.tenant, budget, scope, self._now)

    async def of_day(self) -> RoomSpending:
        parts = self._residence.parts
        return await day_spending(parts.quotas, self._residence.tenant, parts.chat_micro_usd, self._now)

    async def window_end(self, room: ChatRoom) -> datetime | None:
        """When the room is full again; None: it has a budget left, or none."""
        spending = await self.of_room(room.chat)
        return spending.until if spending is not None and spending.is_used_up else None

    async def note_declined(self, room: ChatRoom, who: Principal, sender: str, run: str) -> None:
        """That a turn was not begun."""
        residence = self._residence
        details: dict[str, Json] = {"sender": sender, "budget": "room"}
        row = residence.audit_row(
            "room.budget", room.chat, who=who, run=run, outcome="budget_exhausted", details=details
        )
        await residence.parts.journal.note(Entries(audit=(row,)))

    async def after_turn(self, target: Target) -> None:
        """Tell the room what it has to know about money: once a window when much of it is gone, once when it cannot be counted."""
        await self._tell_unpriced(target)
        for warning in await self._warnings(target):
            await self._warn(target, warning)

    async def _warnings(self, target: Target) -> list[BudgetWarning]:
        residence, scope = self._residence, room_scope(self._residence.profile.name, target.chat)
        quotas, warnings = residence.parts.quotas, list[BudgetWarning]()
        room, day = await self.of_room(target.chat), await self.of_day()
        if room is not None and (percent := await threshold_passed(quotas, residence.tenant, scope, room)):
            warnings.append(BudgetWarning(whose="room", percent=percent, spending=room))
        if percent := await threshold_passed(quotas, residence.tenant, scope, day):
            warnings.append(BudgetWarning(whose="day", percent=percent, spending=day))
        return warnings

    async def _warn(self, target: Target, warning: BudgetWarning) -> None:
        words = _words(target)
        phrase = words.budget_warning if warning.whose == "room" else words.day_warning
        await self._note(target, {"percent": warning.percent, "budget": warning.whose})
        text = phrase.format(percent=warning.percent, until=_until(warning.spending))
        key = "budget" if warning.whose == "room" else "day"
        await self._tell(target, text, f"{key}-{warning.percent}")

    async def _tell_unpriced(self, target: Target) -> None:
        """Of a budget in money, of which some cannot be counted. An agent that we host may say itself what it cost."""
        residence, usage = self._residence, target.usage
        budget = residence.profile.settings.for_room(target.chat).budget
        if usage is None or budget is None or budget.micro_usd is None:
            return
        tokens, scope = usage.input_tokens + usage.output_tokens, room_scope(residence.profile.name, target.chat)
        if not tokens or usage.estimated or residence.parts.is_priced(usage):
            return
        if await is_first_notice(residence.parts.quotas, residence.tenant, scope, usage.model):
            await self._note(target, {"model": usage.model, "budget": "unpriced"})
            await self._tell(target, _words(target).unpriced.format(model=usage.model[:100]), "unpriced")

    async def _note(self, target: Target, details: dict[str, Json]) -> None:
        residence = self._residence
        row = residence.audit_row(
            "room.budget", target.chat, run=target.run, details={"sender": target.sender, **details}
        )
        await residence.parts.journal.note(Entries(audit=(row,)))

    async def _tell(self, target: Target, text: str, what: str) -> None:
        key = f"{target.run}-{what}"
        await self._residence.post(
            Outgoing(chat=target.chat, thread=target.thread, text=text, key=key, run=target.run, notice=True)
        )

    async def shown(self, chat: str, words: RoomPhrases) -> str:
        """What `/budget` answers."""
        lines, room, day = list[str](), await self.of_room(chat), await self.of_day()
        if room is None:
            lines.append(words.no_budget)
        else:
            if room.limit is not None:
                spent = f"{to_usd(room.spent + room.estimated):g}"
                lines.append(words.budget.format(spent=spent, limit=f"{to_usd(room.limit):g}", until=_until(room)))
            if room.token_limit is not None:
                lines.append(
                    words.budget_tokens.format(
                        spent=f"{room.tokens + room.estimated_tokens:,}",
                        limit=f"{room.token_limit:,}",
                        until=_until(room),
                    )
                )
            if room.estimated:
                lines.append(words.budget_estimated.format(estimated=f"{to_usd(room.estimated):g}"))
        if day.limit:
            spent = f"{to_usd(day.spent + day.estimated):g}"
            lines.append(words.budget_day.format(spent=spent, limit=f"{to_usd(day.limit):g}", until=_until(day)))
        return "\n".join(lines)

    @property
    def _now(self) -> datetime:
        return self._residence.parts.clock.now()


def _words(target: Target) -> RoomPhrases:
    return CHINESE if target.chinese else ENGLISH


def _until(spending: RoomSpending) -> str:
    return f"{spending.until:%Y-%m-%d %H:%M} UTC"
