"""What people tell a room to remember, in plain words: English and Chinese. Whatever is not plainly one of these is for the agent."""

from __future__ import annotations

import re
from typing import Final

from commonplace.channels.command_line import CommandName, RoomCommand

_LONGEST: Final = 2_000
_MENTION: Final = re.compile(r"(?:@[^\s,:，：]{1,64}\s*[,:，：]?\s*)+")
_US: Final = r"(?:us|our (?:room|team|group|channel)|this (?:room|group|channel|team)|the (?:room|team))"
_OUR: Final = r"(?:我们|咱们|这个房间|本房间|这个群|本群|这里)"
_END: Final = r"[\s?？.。!！~～]*"
_PATTERNS: Final[tuple[tuple[CommandName, bool, str], ...]] = (
    ("recall", False, rf"(?:and |so )?what (?:do|did) you (?:still )?remember(?: (?:about|of) {_US})?{_END}"),
    ("recall", False, rf"(?:and |so )?what do you know about {_US}{_END}"),
    ("recall", False, rf"(?:please )?(?:show|tell) (?:me|us) what you remember(?: (?:about|of) {_US})?{_END}"),
    ("recall", True, rf"关于{_OUR}[，,\s]*(?:你|您)?[还都]?(?:记得|记住了?|知道)(?:些)?(?:什么|哪些)(?:呢)?{_END}"),
    ("recall", True, rf"(?:你|您)[还都]?(?:记得|知道)(?:关于)?{_OUR}的?(?:些)?(?:什么|哪些事?)(?:呢)?{_END}"),
    ("recall", True, rf"(?:你|您)[还都]?(?:记得|记住了?)(?:些)?(?:什么|哪些事?)(?:呢)?{_END}"),
    (
        "remember",
        False,
        r"(?:please )?remember(?:,? please,?)?(?: this)?(?::| that[,:]?) ?(?P<text>\S+\s+\S.*[^?？\s])\s*",
    ),
    (
        "remember",
        True,
        r"(?:请|麻烦)?(?:你|您)?(?:帮我|帮我们)?记住(?:一下)?(?:[：:，,]|\s)*(?P<text>[^吗]{3,}[^?？吗\s])\s*",
    ),
    (
        "correct",
        False,
        r"(?:please )?correct (?:number |line |no\.? ?|#)?(?P<number>\d{1,4})(?: to\b|[:,])? ?(?P<text>\S.*)",
    ),
    ("correct", True, r"(?:请)?(?:更正|改正)第?\s*(?P<number>\d{1,4})\s*条?(?:[：:，,为]|\s)*(?P<text>\S.*)"),
    (
        "forget",
        False,
        rf"(?:please )?(?:undo (?:that|the last (?:change|one))|bring (?:it|that) back)(?P<undo>){_END}",
    ),
    ("forget", True, rf"(?:请)?(?:撤销|恢复)(?:刚才的?)?(?:修改|更改|忘记的?|那条)?(?P<undo>){_END}"),
    ("forget", False, r"(?:please )?forget (?:that |about )?(?P<text>(?!(?:it|that|this|about)\b)\S.*?)[\s.!]*"),
    ("forget", True, r"(?:请)?(?:忘记|忘掉|忘了)(?:[：:，,]|\s)*(?P<text>\S.+?)[。！!\s]*"),
)
_SENTENCES: Final[tuple[tuple[CommandName, bool, re.Pattern[str]], ...]] = tuple(
    (name, is_chinese, re.compile(pattern, re.IGNORECASE | re.DOTALL)) for name, is_chinese, pattern in _PATTERNS
)


def parse_sentence(text: str, agent: str) -> RoomCommand | None:
    """As `parse_command`, from a sentence to the agent. None: it is for the agent."""
    words = _MENTION.sub("", text.strip(), count=1) if text.lstrip().startswith("@") else text.strip()
    if words.casefold().startswith((f"{agent.casefold()},", f"{agent.casefold()}:")):
        words = words[len(agent) + 1 :].strip()
    if len(words) > _LONGEST:
        return None
    for name, is_chinese, pattern in _SENTENCES:
        if (match := pattern.fullmatch(words)) is not None:
            return RoomCommand(name=name, argument=_argument(match), chinese=is_chinese, is_sentence=True)
    return None


def _argument(match: re.Match[str]) -> str:
    groups = match.groupdict()
    if groups.get("undo") is not None:
        return "undo"
    return " ".join(groups[name].strip() for name in ("number", "text") if groups.get(name))
