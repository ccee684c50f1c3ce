"""What the agent is told of a message: who said it, what it answers, what came with it."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence
from typing import Final

from commonplace.values.envelope import ChatAttachment, Envelope

MAX_NAME: Final = 64
MAX_QUOTE: Final = 500
MAX_FILE_NAME: Final = 128
MAX_PATH: Final = 1_024
UNKNOWN: Final = "unknown"
INTERRUPTED: Final = "(The request before this one was interrupted by its room.)"
_PREFIX: Final = re.compile(
    r"\[[^\]]+\] ?[^\s(]|\[(Replying|Scheduled)\b|User sent an? (image|file|audio|video) \"", re.IGNORECASE
)
_HIDDEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
"""Categories of characters that show nothing, or turn the direction of what follows."""


def visible(text: str, *, without: str = "", lines: bool = False) -> str:
    """The text without characters that show nothing, spaces joined. `without`: others that must not be in it."""
    characters = (
        character
        if lines and character == "\n"
        else " "
        if unicodedata.category(character) == "Zs" or character in "\t\n\r"
        else ""
        if unicodedata.category(character) in _HIDDEN or character in without
        else character
        for character in unicodedata.normalize("NFC", text)
    )
    text = "".join(characters)
    return "\n".join(" ".join(line.split()) for line in text.split("\n")).strip() if lines else " ".join(text.split())


def display_name(name: str) -> str:
    """What a sender calls themselves, as it may stand in front of their words: no bracket, nothing invisible, at most 64 characters."""
    return visible(name[: MAX_NAME * 8], without="[](){}<>（）【】「」《》［］").strip()[:MAX_NAME].strip() or UNKNOWN


def quoted(text: str) -> str:
    return visible(text[: MAX_QUOTE * 4], without='"[]“”')[:MAX_QUOTE].strip()


def unposed(text: str) -> str:
    """The text without a line behind its first that begins as ours do: nobody speaks for somebody else."""
    first, *others = text.splitlines(keepends=True) or [""]
    return first + "".join(f"> {line}" if _PREFIX.match(visible(line[: MAX_NAME * 8])) else line for line in others)


def prompt_text(envelope: Envelope, *, shared: bool) -> str:
    """
    The quote, the speaker, the text, what came with it. The speaker is named where several talk, every time, unless the text says it
    already.
    """
    text = envelope.text.strip()
    if shared and not envelope.already_prefixed:
        text = f"[{display_name(envelope.sender_name or envelope.sender)}] {unposed(text)}"
    if envelope.quote and (quote := quoted(envelope.quote)):
        text = f'[Replying to: "{quote}"]\n\n{text}'
    sent_files = [_attachment_line(file) for file in envelope.attachments if file.path or file.problem]
    return "\n\n".join([text, *sent_files] if text or not sent_files else sent_files)


def _attachment_line(file: ChatAttachment) -> str:
    begin = f'User sent a {file.kind} "{file_name(file.name)}".'
    if file.path:
        return f"{begin} It has been saved to: {visible(file.path)[:MAX_PATH]}"
    return f"{begin} It could not be saved: {visible(file.problem or '')[:MAX_QUOTE]}"


def file_name(name: str) -> str:
    """What a file is called, as it may stand in a prompt and on a disk: on one line, without slashes, and without a quote that would end it."""
    return visible(name[: MAX_FILE_NAME * 4], without='"/\\')[-MAX_FILE_NAME:].strip(" .") or "file"


def collected(texts: Sequence[str]) -> str:
    """Several messages as one."""
    return "\n\n".join(texts)
