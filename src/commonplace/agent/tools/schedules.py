"""What the agent is to do by itself: set by a tool, after a person has seen when."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import Field, TypeAdapter

from commonplace.agent.tools.tool import AgentTool, ToolArguments, one_line
from commonplace.errors import CommonplaceError
from commonplace.ports.clock import Clock
from commonplace.ports.schedule_client import ScheduleClient
from commonplace.schedule.proposal import propose
from commonplace.schedule.times import next_times, zone_of
from commonplace.schedule.words import words
from commonplace.text.unicode import reads_as_cjk
from commonplace.values.schedule import MAX_LABEL, MAX_PROMPT, SchedulePage, ScheduleView

_VIEW: Final = TypeAdapter(ScheduleView)
_PAGE: Final = TypeAdapter(SchedulePage)


class ScheduleTools:
    """Schedules of the session or the room that the turn is in. `zone` is the time zone of those that name none."""

    def __init__(self, schedules: ScheduleClient, clock: Clock, *, target: str, zone: str) -> None:
        self._schedules = schedules
        self._clock = clock
        self._target = target
        self._zone = zone

    def tools(self) -> list[AgentTool]:
        return [
            AgentTool(
                name="schedule_task",
                kind="other",
                function=self.schedule_task,
                asks=True,
                changes=True,
                title=self._title,
                # Each is looked at: that one is set says nothing about the next.
                rule=lambda arguments: f"{arguments.get('when')} {arguments.get('prompt')}",
                diff=self._next_times,
            ),
            AgentTool(name="schedule_list", kind="read", function=self.schedule_list),
            AgentTool(
                name="schedule_cancel",
                kind="other",
                function=self.schedule_cancel,
                asks=True,
                changes=True,
                title=lambda arguments: f"Cancel the schedule {arguments.get('schedule')}",
            ),
        ]

    async def schedule_task(
        self,
        when: Annotated[
            str,
            Field(
                max_length=MAX_PROMPT + 200,
                description='Five fields of cron ("0 9 * * 1-5"), or the sentence that says when: "every weekday at nine", "tomorrow at 8:30", "每周一早上九点".',
            ),
        ],
        prompt: Annotated[
            str | None,
            Field(max_length=MAX_PROMPT, description="What you are told then. It must say all you need to know."),
        ] = None,
        label: Annotated[str | None, Field(max_length=MAX_LABEL)] = None,
        zone: Annotated[str | None, Field(max_length=64, description="A time zone, such as Europe/Berlin.")] = None,
    ) -> str:
        """
        Set something that you do by yourself later, once or again and again, in this conversation. The person is shown when, and asked. Then you are told the prompt; you
        cannot run commands, delete or fetch in such a turn.
        """
        view = await self._schedules.add(self._target, when=when, prompt=prompt, label=label, zone=zone)
        return _VIEW.dump_json(view).decode()

    async def schedule_list(self) -> str:
        """What is set in this conversation: when, what, and what became of it last."""
        return _PAGE.dump_json(await self._schedules.list(target=self._target)).decode()

    async def schedule_cancel(
        self, schedule: Annotated[str, Field(max_length=64, description="Its id, as schedule_list tells it.")]
    ) -> str:
        """Remove a schedule, for good."""
        await self._schedules.cancel(schedule)
        return "It is cancelled."

    def _title(self, arguments: ToolArguments) -> str:
        when, prompt = str(arguments.get("when")), arguments.get("prompt")
        try:
            timing, rest = propose(when, self._clock.now(), self._zone_of(arguments))
        except CommonplaceError:
            return f"Schedule {one_line(when, 80)}: {prompt or ''}"
        timing_words = words(timing, chinese=reads_as_cjk(f"{when}{prompt or ''}"))
        return f"Schedule {timing_words}: {prompt or rest}"

    def _next_times(self, arguments: ToolArguments) -> str | None:
        """What the person is shown beside the question. Raises InvalidSchedule: it says no time, and nobody is asked."""
        zone = self._zone_of(arguments)
        timing, rest = propose(str(arguments.get("when")), self._clock.now(), zone)
        lines = [
            f"{due.astimezone(zone_of(zone)):%a %Y-%m-%d %H:%M %Z}" for due in next_times(timing, self._clock.now())
        ]
        return "\n".join([words(timing), words(timing, chinese=True), *lines, str(arguments.get("prompt") or rest)])

    def _zone_of(self, arguments: ToolArguments) -> str:
        zone = arguments.get("zone")
        return zone if isinstance(zone, str) and zone else self._zone
