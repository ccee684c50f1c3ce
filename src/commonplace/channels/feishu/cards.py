"""
Cards of Feishu, version 2.0: how an answer, a question and its outcome look.

What somebody wrote cannot mention people: a mention of everybody is a tag in the text of a card.
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from typing import Final, Literal

from commonplace.ports.channel import CardOption
from commonplace.values.json import Json

Template = Literal["blue", "green", "orange", "red"]
STOP: Final = "stop"
EMPTY: Final = "…"
_SUMMARY: Final = 3_500
_TAG: Final = re.compile(r"<(?=\s*+/?\s*+(?:at|person)\b)", re.IGNORECASE)
_RULE: Final = re.compile(r"\s*+\|?\s*+:?-++:?\s*+(?:\|\s*+:?-++:?\s*+)*\|?\s*")


def card_content(
    text: str, *, title: str, template: Template, buttons: Sequence[tuple[CardOption, str]] = ()
) -> dict[str, Json]:
    """`buttons` with the keys of the messages that they are about."""
    text = without_mentions(text) or EMPTY
    elements: list[Json] = [{"tag": "markdown", "content": block} for block in table_blocks(text)]
    elements += [_button(option, key) for option, key in buttons]
    return {
        "schema": "2.0",
        "config": {"wide_screen_mode": True, "update_multi": True, "summary": {"content": text[:_SUMMARY]}},
        "header": {"title": {"tag": "plain_text", "content": title}, "template": template},
        "body": {"elements": elements},
    }


def content_text(content: dict[str, Json]) -> str:
    """As messages carry it: JSON inside JSON."""
    return json.dumps(content, ensure_ascii=False, separators=(",", ":"))


def without_mentions(text: str) -> str:
    return _TAG.sub("＜", text)


def table_blocks(text: str) -> list[str]:
    """The text in blocks of whole lines, with at most one table each. What looks like one inside a fence of code is none."""
    blocks: list[list[str]] = [[]]
    has_table = False
    lines = text.split("\n")
    for number, line in enumerate(lines):
        if _begins_table(lines, number):
            if has_table:
                blocks.append([])
            has_table = True
        blocks[-1].append(line)
    return ["\n".join(block) for block in blocks]


def without_tables(text: str) -> str:
    """Tables as lines of plain text, in case that the platform takes none."""
    rows: list[str] = []
    lines = text.split("\n")
    place = 0
    while place < len(lines):
        if not _begins_table(lines, place):
            rows.append(lines[place])
            place += 1
            continue
        rows.append(_row(lines[place]))
        place += 2
        while place < len(lines) and "|" in lines[place]:
            rows.append(_row(lines[place]))
            place += 1
    return "\n".join(rows)


def _begins_table(lines: Sequence[str], number: int) -> bool:
    """A line of cells, and below it the rule."""
    if "|" not in lines[number] or number + 1 >= len(lines):
        return False
    rule = lines[number + 1]
    return "-" in rule and "|" in rule and _RULE.fullmatch(rule) is not None and not _is_in_fence(lines, number)


def _is_in_fence(lines: Sequence[str], number: int) -> bool:
    return sum(line.lstrip().startswith("```") for line in lines[:number]) % 2 == 1


def _row(line: str) -> str:
    return " · ".join(cell.strip() for cell in line.strip().strip("|").split("|"))


def _button(option: CardOption, key: str) -> Json:
    return {
        "tag": "button",
        "text": {"tag": "plain_text", "content": option.label},
        "type": "danger" if option.command in (STOP, "deny") else "default",
        "behaviors": [{"type": "callback", "value": {"action": option.command, "key": key}}],
    }
