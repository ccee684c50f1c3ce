"""Times in plain sentences: whether one is named, and what is to be done then."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Final

from commonplace.text.recurrence.sentence import read_sentence
from commonplace.text.recurrence.timed_task import TimedTask

_TIMED: Final = re.compile(
    r"\d|\b(?:every|each|daily|weekly|monthly|hourly|tomorrow|tonight|today|noon|midnight|morning|afternoon|evening|lunch|dinner|weekend|next|in an?|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|minutes?|hours?|days?|weeks?|months?|before|after|when)\b"
    r"|每|明天|后天|今晚|今天|周[一二三四五六日天]|星期|下周|月底|分钟|小时|点|之后|以后|前|早上|晚上|中午|下午|隔|等|到",
    re.IGNORECASE,
)
_ORDER: Final = re.compile(
    r"^(?:post|send|list|check|tell|ask|write|summari[sz]e|report|look|print|clean|wish|nudge|suggest|collect|review|remind|share|show|give|announce|"
    r"compile|gather|prepare|draft|publish|count|compare|read|run|search|find|update|back up|say|greet|warn|notify|ping)\b"
    r"|^(?:发|列|检查|查|看|问|告诉|记下|把|推荐|汇报|汇总|总结|整理|收集|祝|提醒|催|清理|打印|统计|推送|生成|写|通知|叫|备份|公布|分享|报告|对比|搜索|更新|播报)",
    re.IGNORECASE,
)
"""What somebody is told to do: a plain note of what happens when begins otherwise."""


def is_timed(text: str) -> bool:
    return _TIMED.search(text) is not None


def timed_task(text: str) -> TimedTask | None:
    """What is to be done then; None: the rules do not understand when."""
    return read_sentence(text, datetime.now())  # noqa: DTZ005 - by the clock of nobody: only what is to be done is looked at


def timed_wish(text: str) -> TimedTask | None:
    """The same, where the sentence is plainly an order."""
    task = timed_task(text)
    return task if task is not None and _ORDER.match(task.prompt) else None
