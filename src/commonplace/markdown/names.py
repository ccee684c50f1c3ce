"""
Which names a file of memory may have, where we make it or are told to open it.

Names that mean one thing here and another elsewhere are refused rather than repaired: what looks like a separator, what a
file system may fold into another name, what a system takes for a device, and what cannot be seen.
"""

from __future__ import annotations

from typing import Final

from commonplace.errors import PathEscape
from commonplace.text.unicode import normal_form

LONGEST_PATH: Final = 1024
LONGEST_NAME: Final = 200
DEEPEST: Final = 8
_FORBIDDEN: Final = frozenset('/\\:*?"<>|∕⁄⧵⧸╱﹨～')
_NUMBERS: Final = "0123456789"
_DEVICES: Final = frozenset(
    ["con", "prn", "aux", "nul", "conin$", "conout$", *(f"{name}{n}" for name in ("com", "lpt") for n in _NUMBERS)]
)


def parts_of(path: str) -> tuple[str, ...]:
    """
    The names along a relative path of forward slashes.

    Raises:
        PathEscape: one of them could mean something else than a plain name inside the folder.
    """
    if not path or len(path.encode("utf-8", "surrogatepass")) > LONGEST_PATH:
        raise PathEscape(f"A path has 1 to {LONGEST_PATH} bytes.")
    parts = tuple(path.split("/"))
    if len(parts) > DEEPEST:
        raise PathEscape(f"The path is more than {DEEPEST} folders deep.", path=_shown(path))
    for part in parts:
        if reason := fault(part):
            raise PathEscape(f"{_shown(path)} cannot be used: {reason}. Name a plain file.", path=_shown(path))
    return parts


def fault(name: str) -> str | None:
    """Why `name` may not be given to a file of memory, or None where it may."""
    if not name or name in (".", ".."):
        return "a part of it is empty or made of dots"
    if name.startswith((".", "~")):
        return "a part of it is hidden, or stands for somebody's home"
    if not name.isprintable():
        return "it holds characters that cannot be seen"
    if name != name.strip() or name.endswith("."):
        return "a part of it begins or ends with a space or ends with a dot"
    if len(name.encode("utf-8")) > LONGEST_NAME:
        return f"a part of it is longer than {LONGEST_NAME} bytes"
    return _double_meaning(name)


def _double_meaning(name: str) -> str | None:
    plain = normal_form(name)
    if normal_form(name, "NFC") != name:
        return "it is not written in composed characters (NFC)"
    if _FORBIDDEN.intersection(name) or _FORBIDDEN.intersection(plain):
        return "it holds a character that some system takes for a separator or a pattern"
    if fold(name).strip(". ") != fold(name):
        return "a part of it begins or ends with a space or a dot in disguise"
    if plain.casefold().partition(".")[0].strip() in _DEVICES:
        return "some system takes it for a device"
    return None


def fold(name: str) -> str:
    """What two names have in common that some file system takes for one."""
    return normal_form(normal_form(name).casefold())


def _shown(path: str) -> str:
    return ascii(path[:80])
