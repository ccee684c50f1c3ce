"""What the agent is about to do, as a list that a person sees."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import BaseModel, ConfigDict, Field

from commonplace.agent.tools.tool import AgentTool, ToolArguments, ToolResult, one_line

MOST_ENTRIES: Final = 50
_LONGEST_ENTRY: Final = 300


class PlanStep(BaseModel):
    """One thing to do."""

    model_config = ConfigDict(extra="forbid")

    text: Annotated[str, Field(min_length=1, max_length=_LONGEST_ENTRY, description="What to do, in one line.")]
    status: Literal["pending", "in_progress", "completed"] = "pending"


async def todo(
    entries: Annotated[list[PlanStep], Field(max_length=MOST_ENTRIES, description="The whole plan, in its order.")],
) -> ToolResult:
    """
    Write down the plan, or change it: give all of its entries each time. Use it for work of several steps, and mark an
    entry as completed as soon as it is.
    """
    plan = tuple({"text": one_line(entry.text, _LONGEST_ENTRY), "status": entry.status} for entry in entries)
    open_entries = sum(entry["status"] != "completed" for entry in plan)
    return ToolResult(text=f"The plan has {len(plan)} entries; {open_entries} are open.", plan=plan)


def _title(arguments: ToolArguments) -> str:
    del arguments
    return "Change the plan"


def plan_tool() -> AgentTool:
    return AgentTool(name="todo", kind="think", function=todo, title=_title)
