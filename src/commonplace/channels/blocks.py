"""A long answer in pieces: cut at a paragraph, else at a line, else at a space."""

from __future__ import annotations

from typing import Final

LEAST: Final = 400
MOST: Final = 1_000
IDLE_SECONDS: Final = 1.5
_BREAKS: Final = ("\n\n", "\n", " ")


def first_block(text: str, *, least: int = LEAST, most: int = MOST) -> str | None:
    """The first piece that may be sent by now; None: there is too little."""
    if len(text) < least:
        return None
    window = text[:most]
    # As long as more may come, a line is not cut in the middle.
    for mark in _BREAKS if len(text) >= most else _BREAKS[:2]:
        place = window.rfind(mark)
        if place >= least:
            return text[: place + len(mark)]
    return window if len(text) >= most else None


def pieces(text: str, most: int) -> list[str]:
    """All of it in messages of at most `most` characters. A fence of code that is cut is closed, and opened again."""
    cut: list[str] = []
    fence = ""
    while text:
        room = most - len(fence) - 8
        piece = text if len(text) <= room else (first_block(text, least=room // 2, most=room) or text[:room])
        text = text[len(piece) :]
        body = f"{fence}\n{piece}" if fence else piece
        fence = _open_fence(body)
        cut.append(f"{body.rstrip()}\n```" if fence and text else body.rstrip("\n") if text else body)
    return cut


def _open_fence(text: str) -> str:
    fence = ""
    for line in text.split("\n"):
        if line.lstrip().startswith("```"):
            fence = "" if fence else line.strip()[:40]
    return fence
