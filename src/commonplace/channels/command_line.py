"""`/name arguments`: what a room is told to do, in English and Chinese. What is no command of ours is for the agent."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal, TypeAlias

CommandName: TypeAlias = Literal[
    "help", "status", "who", "clear", "cancel", "remember", "correct", "forget", "recall", "why", "audit", "budget", "approve",
    "approve-always", "deny", "pause", "resume", "schedule",
]  # fmt: skip

ALIASES: Final[dict[str, CommandName]] = {
    "help": "help", "帮助": "help",
    "status": "status", "状态": "status",
    "who": "who", "谁": "who", "谁在": "who",
    "clear": "clear", "reset": "clear", "new": "clear", "清除": "clear", "重置": "clear",
    "cancel": "cancel", "stop": "cancel", "取消": "cancel", "停止": "cancel",
    "remember": "remember", "记住": "remember",
    "correct": "correct", "更正": "correct", "改正": "correct",
    "forget": "forget", "忘记": "forget", "忘掉": "forget",
    "recall": "recall", "回忆": "recall", "记得": "recall",
    "why": "why", "为什么": "why",
    "schedule": "schedule", "loop": "schedule", "定时": "schedule", "定时任务": "schedule", "日程": "schedule", "循环": "schedule",
    "audit": "audit", "审计": "audit",
    "budget": "budget", "预算": "budget",
    "approve": "approve", "批准": "approve", "同意": "approve",
    "approve-always": "approve-always", "总是批准": "approve-always",
    "deny": "deny", "拒绝": "deny",
    "pause": "pause", "暂停": "pause",
    "resume": "resume", "恢复": "resume", "继续": "resume",
}  # fmt: skip

USAGE: Final[dict[CommandName, tuple[str, str]]] = {
    "help": ("/help", "/帮助"),
    "status": ("/status — what I am doing", "/状态 — 我在做什么"),
    "who": ("/who — who is here, and where I work", "/谁 — 谁在这里，我在哪里工作"),
    "clear": ("/clear confirm — begin a new conversation", "/清除 确认 — 开始新的对话"),
    "cancel": ("/cancel — stop what I am doing", "/取消 — 停止当前任务"),
    "remember": ("/remember we ship on Fridays", "/记住 我们周五发布"),
    "correct": ("/correct 2 we ship on Mondays", "/更正 2 我们周一发布"),
    "forget": ("/forget … , /forget undo", "/忘记 … ，/忘记 撤销"),
    "recall": ("/recall — what I remember about this room", "/回忆 — 关于这个房间我记得什么"),
    "why": ("/why — what my last answer rested on", "/为什么 — 上次回答的依据"),
    "schedule": (
        "/schedule every weekday at nine post the open questions; /schedule list",
        "/定时 每周一早上九点发布未解决的问题；/定时 列表",
    ),
    "audit": ("/audit — who asked for what", "/审计 — 谁要求了什么"),
    "budget": ("/budget — what this room has spent", "/预算 — 本房间的花费"),
    "approve": ("/approve — allow what I ask for", "/批准 — 允许我请求的操作"),
    "approve-always": ("/approve-always — allow it from now on", "/总是批准 — 今后都允许"),
    "deny": ("/deny — refuse it", "/拒绝 — 拒绝"),
    "pause": ("/pause — leave this room alone", "/暂停 — 不再处理本房间"),
    "resume": ("/resume — work here again", "/恢复 — 继续工作"),
}
CONFIRM: Final = frozenset({"confirm", "确认", "确定"})
UNDO: Final = frozenset({"undo", "撤销", "恢复"})
_LINE: Final = re.compile(r"/([\w:-]{1,64})(?:@[\w.-]{1,64})?(?:\s+(.*))?", re.DOTALL)


@dataclass(frozen=True, kw_only=True, slots=True)
class RoomCommand:
    """`chinese`: it was written so, and is answered so. `is_sentence`: it was said in plain words, and may have been meant for the agent."""

    name: CommandName
    argument: str = ""
    chinese: bool = False
    is_sentence: bool = False


def parse_command(text: str) -> RoomCommand | None:
    """None: it is for the agent."""
    match = _LINE.fullmatch(text.strip())
    if match is None:
        return None
    word = match[1].lower()
    name = ALIASES.get(word)
    if name is None:
        return None
    argument = (match[2] or "").strip()
    return RoomCommand(name=name, argument=argument, chinese=not word.isascii())
