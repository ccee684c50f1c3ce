"""
What somebody said, sentence by sentence, without what is not their own statement.

Code blocks, quoted lines and whatever follows "here is the mail:" belong to somebody else and are left out. A full stop
ends a sentence only where white space follows and the word before it is no abbreviation, so that an address, a version,
a path or a name in backticks stays whole. Line breaks end a sentence unless the next line plainly goes on. Every step is one
walk over the text.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Final

_FENCE: Final = re.compile(r"^[ \t]*(```|~~~)")
_QUOTED_LINE: Final = re.compile(r"^[ \t]*[>＞|]")
_BULLET: Final = re.compile(r"^[ \t]*(?:[-*•·+]|\d{1,3}[.)、]|#{1,6})[ \t]+|^[ \t]*\d{1,3}、")
# What comes after such a line was written by somebody else, or by a machine.
_HANDED_ON: Final = re.compile(
    r"\b(?:e-?mails?|message|article|page|logs?|output|text|transcript|paste|pasted|snippet|traceback|stack ?trace|error|says"
    r"|said|wrote|writes|quote|document|translate|summari[sz]e|proofread|rewrite|readme|file|paragraph|prompt|dialogue|story|scene|lyrics|poem|script|draft)\b"
    r"|邮件|郵件|原文|日志|日誌|输出|輸出|报错|報錯|文章|网页|網頁|文档|文檔|内容|內容|翻译|翻譯|总结|總結|润色|潤色|他说|她说|他說|她說"
    r"|聊天记录|聊天記錄|开头|開頭|续写|續寫|故事|剧本|台词|草稿|下面|以下|如下",
    re.IGNORECASE,
)
# An order to work on a text: the text comes after it.
_WORK_ON: Final = re.compile(
    r"\b(?:translate|proofread|rewrite|rephrase|paraphrase|summari[sz]e|polish)\b[^.]{0,30}"
    r"(?:\b(?:this|these|following|below|text|paragraph|e-?mail|letter|draft|sentences?)\b|[:：])"
    r"|(?:翻译|翻譯|润色|潤色|总结|總結|校对|校對|改写|改寫|翻成|译成).{0,12}(?:这|這|以下|下面|一下|：|:)|(?:这|這|以下|下面).{0,10}(?:翻译|翻譯|润色|潤色|总结|總結|校对|校對|改写|改寫|翻成|译成)",
    re.IGNORECASE,
)
# Possessive, and never from the middle of a run: else a line of ten thousand dots is read ten thousand times.
_MARK: Final = re.compile(r"(?<![.!?…])[.!?…]++[\"'’”)\]}»]*+(?=\s|$)|[。！？｡；;]+[\"'’”」』）】》]*|[;](?=\s)")
_ABBREVIATION: Final = re.compile(
    r"(?:^|[\s(\[\"])(?:e\.g|i\.e|mr|mrs|ms|dr|prof|st|vs|approx|ca|cf|no|fig|vol|inc|ltd|corp|jr|sr|dept|min|max|resp"
    r"|[a-z](?:\.[a-z])*)\.$",
    re.IGNORECASE,
)
_NEXT: Final = re.compile(r"\s*(\S)")
_PAIRS: Final = (("“", "”"), ("「", "」"), ("『", "』"), ("《", "》"))
_CLOSING: Final = ".!?。！？｡…;；"


def own_lines(text: str) -> list[str]:
    """The lines that are the speaker's own, list marks and headings taken off, wrapped lines put together again."""
    lines: list[list[str]] = []
    fence = ""
    continues = False
    for line in text.splitlines():
        if mark := _FENCE.match(line):
            if not fence:
                fence = mark[1]
            elif mark[1] == fence:
                fence = ""
            continues = False
            continue
        if fence or _QUOTED_LINE.match(line) or not line.strip():
            continues = False
            continue
        own = _BULLET.sub("", line).strip()
        if continues and own == line.strip() and own[:1].islower():
            lines[-1].append(own)
        elif own:
            lines.append([own])
        else:
            continue
        continues = own[-1:] not in _CLOSING
        if own[-1:] in ":：" and _HANDED_ON.search(own):
            break
        if order := _WORK_ON.search(own):
            lines[-1][-1] = own[: order.start()]
            break
    return [" ".join(parts) for parts in lines]


def sentences(text: str) -> Iterator[str]:
    """The sentences of `text` that are the speaker's own, in order, each with the mark that ends it."""
    for line in own_lines(text):
        yield from _of_line(line)


def whole_sentences(text: str) -> Iterator[str]:
    """As `sentences`, without the last one where nothing ends it: for a text that was cut."""
    parts = list(sentences(text))
    if parts and parts[-1][-1] not in _CLOSING:
        parts.pop()
    yield from parts


def bare(sentence: str) -> str:
    """Without the marks that end it."""
    return sentence.strip().rstrip(".!。！｡;；,，、:： \t")


def in_quotes(text: str) -> bool:
    """Whether a quotation begins or ends in the middle of it."""
    return text.count('"') % 2 == 1 or any(text.count(opens) != text.count(closes) for opens, closes in _PAIRS)


def is_cut(text: str) -> bool:
    """Whether an ellipsis ends it: the thought was not finished."""
    return text.rstrip().endswith(("...", "…"))


def _of_line(line: str) -> Iterator[str]:
    start = 0
    marks: Counter[str] = Counter()
    counted = 0
    for mark in _MARK.finditer(line):
        marks.update(line[counted : mark.end()])
        counted = mark.end()
        if _is_open(marks) or _goes_on(line, start, mark):
            continue
        if part := line[start : mark.end()].strip():
            yield part
        start = mark.end()
    if part := line[start:].strip():
        yield part


def _is_open(marks: Counter[str]) -> bool:
    """Whether code or a quotation has begun and not ended."""
    return marks["`"] % 2 == 1 or marks['"'] % 2 == 1 or any(marks[opens] > marks[closes] for opens, closes in _PAIRS)


def _goes_on(line: str, start: int, mark: re.Match[str]) -> bool:
    """A full stop after an abbreviation or an initial ends nothing, nor does one before a small letter."""
    if mark[0][0] not in ".…" or mark.end() == len(line):
        return False
    if mark[0] == "." and _ABBREVIATION.search(line, max(start, mark.start() - 12), mark.end()):
        return True
    after = _NEXT.match(line, mark.end())
    return mark[0] != "." and after is not None and after[1].islower()
