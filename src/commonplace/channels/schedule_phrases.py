"""What a room says about its schedules, in two languages."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal, TypeAlias

from commonplace.schedule.times import zone_of
from commonplace.values.schedule import ScheduleView

ScheduleVerb: TypeAlias = Literal["add", "confirm", "list", "inspect", "run", "disable", "enable", "cancel"]
VERBS: Final[dict[str, ScheduleVerb]] = {
    "add": "add", "set": "add", "添加": "add", "新增": "add", "设置": "add",
    "confirm": "confirm", "yes": "confirm", "确认": "confirm", "确定": "confirm",
    "list": "list", "ls": "list", "列表": "list", "列出": "list",
    "inspect": "inspect", "show": "inspect", "查看": "inspect", "详情": "inspect",
    "run": "run", "运行": "run", "执行": "run",
    "disable": "disable", "停用": "disable", "禁用": "disable",
    "enable": "enable", "启用": "enable",
    "cancel": "cancel", "delete": "cancel", "remove": "cancel", "取消": "cancel", "删除": "cancel",
}  # fmt: skip
_DAYS: Final = "一二三四五六日"


@dataclass(frozen=True, kw_only=True, slots=True)
class SchedulePhrases:
    usage: str
    proposal: str
    nothing_to_do: str
    nothing_proposed: str
    added: str
    none: str
    entries: str
    entry: str
    off: str
    over: str
    on_hold: str
    failing: str
    detail: str
    last: str
    which_one: str
    begun: str
    disabled: str
    enabled: str
    cancelled: str


ENGLISH: Final = SchedulePhrases(
    usage=(
        "Say when and what: /schedule every weekday at nine post the open questions — or five fields of cron: "
        "/schedule 0 9 * * 1-5 post the open questions\n/schedule list, and with a number of it: inspect, run, disable, "
        "enable, cancel"
    ),
    proposal="{words} ({zone}): {prompt}\nNext: {times}\n{name}, write /schedule confirm to set it.",
    nothing_to_do="Say what is to be done then, too: /schedule every weekday at nine post the open questions",
    nothing_proposed="{name}, nothing of yours waits to be confirmed. Say again what and when: /schedule …",
    added="Set: {words}. Next: {times}. /schedule list shows it.",
    none="Nothing is scheduled in this room.",
    entries="What I do here by myself:\n{lines}",
    entry="{number}. {label} — {words}, set by {by}, {state}",
    off="disabled",
    over="over",
    on_hold="on hold while this is paused",
    failing="last time it failed: {error}",
    detail="{label}, set by {by}\n{words} ({zone})\n{state}\n{last}\n{prompt}",
    last="Last: {status} at {at}. {told}",
    which_one="Which one? Name its number:\n{lines}",
    begun="It begins now.",
    disabled="Disabled: {label}. /schedule enable {number} brings it back.",
    enabled="Enabled: {label}. Next: {times}.",
    cancelled="Cancelled: {label}.",
)
CHINESE: Final = SchedulePhrases(
    usage=(
        "请说明时间和内容：/定时 每周一早上九点发布未解决的问题 — 或五段 cron：/定时 0 9 * * 1-5 发布未解决的问题\n"
        "/定时 列表；加上编号：查看、运行、停用、启用、取消"
    ),
    proposal="{words}（{zone}）：{prompt}\n接下来：{times}\n{name}，输入“/定时 确认”即可设置。",
    nothing_to_do="也请说明要做什么：/定时 每周一早上九点发布未解决的问题",
    nothing_proposed="{name}，没有等待你确认的定时任务。请重新说明时间和内容：/定时 …",
    added="已设置：{words}。接下来：{times}。/定时 列表 可查看。",
    none="本房间没有定时任务。",
    entries="我在这里的定时任务：\n{lines}",
    entry="{number}. {label} — {words}，{by} 设置，{state}",
    off="已停用",
    over="已结束",
    on_hold="已暂停",
    failing="上次失败：{error}",
    detail="{label}，{by} 设置\n{words}（{zone}）\n{state}\n{last}\n{prompt}",
    last="上次：{status}，{at}。{told}",
    which_one="哪一个？请说编号：\n{lines}",
    begun="现在开始。",
    disabled="已停用：{label}。/定时 启用 {number} 可恢复。",
    enabled="已启用：{label}。接下来：{times}。",
    cancelled="已取消：{label}。",
)


def times_text(times: Sequence[datetime], zone: str, *, chinese: bool) -> str:
    """By the clock of the schedule."""
    local = [moment.astimezone(zone_of(zone)) for moment in times]
    if chinese:
        return "、".join(f"{at:%Y-%m-%d}（周{_DAYS[at.weekday()]}）{at:%H:%M}" for at in local)
    return ", ".join(f"{at:%a %Y-%m-%d %H:%M}" for at in local)


def state_text(phrases: SchedulePhrases, view: ScheduleView, *, chinese: bool) -> str:
    """Whether and when it comes next, and what went wrong."""
    if not view.enabled:
        reason = view.disabled_because
        state = phrases.over if reason is None and not view.recurring else phrases.off
        return state if reason is None else f"{state}: {reason}"
    if view.paused:
        return phrases.on_hold
    state = times_text(view.next_times[:1], view.zone, chinese=chinese)
    if view.last is not None and view.last.status == "error":
        state += "; " + phrases.failing.format(error=view.last.error)
    return state
