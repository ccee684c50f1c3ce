"""
What an agent may do by itself, when nobody has just spoken.

Nobody is there to be asked, so whatever would be asked about is refused at once (`LiveSession.ask`). What runs commands, deletes, moves or fetches is refused even where people
are not asked: an instruction in a page or a memory would have all night to use it.
"""

from __future__ import annotations

from typing import Final

from commonplace.agent.tools.calls import PermissionRules, Verdict
from commonplace.agent.tools.tool import AgentTool
from commonplace.values.permission import PermissionAnswer, ToolKind

HIGH_RISK: Final[frozenset[ToolKind]] = frozenset({"execute", "delete", "move", "fetch"})


class ScheduledRules(PermissionRules):
    """`rules` are those of the person in whose name it speaks."""

    def __init__(self, rules: PermissionRules) -> None:
        self._rules = rules

    def verdict(self, tool: AgentTool, rule: str) -> Verdict:
        verdict = self._rules.verdict(tool, rule)
        return "ask" if verdict == "allow" and tool.kind in HIGH_RISK else verdict

    def remember(self, rule: str, answer: PermissionAnswer) -> None:
        """Nobody answers, so there is nothing to remember."""
