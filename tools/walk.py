"""
Which files a request walks through, and how often it crosses from one package into another.

    python tools/walk.py

Stores a record over HTTP in this process (`POST /v1/records`), after one that warms everything up, and counts the files whose
functions are called and the pairs of functions of different packages that call each other.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
import threading
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import commonplace
from commonplace.testing.daemon import served

SOURCE = Path(commonplace.__file__).parent


class Walk:
    def __init__(self) -> None:
        self.files: set[str] = set()
        self.crossings: set[tuple[CodeType, CodeType]] = set()
        self.is_on = False

    def profile(self, frame: FrameType, event: str, argument: Any) -> None:
        del argument
        if not self.is_on or event != "call" or (package := _package(frame)) is None:
            return
        self.files.add(frame.f_code.co_filename)
        caller = frame.f_back
        while caller is not None and _package(caller) is None:
            caller = caller.f_back
        if caller is not None and _package(caller) != package:
            self.crossings.add((caller.f_code, frame.f_code))


def _package(frame: FrameType) -> str | None:
    path = Path(frame.f_code.co_filename)
    if not path.is_relative_to(SOURCE):
        return None
    parts = path.relative_to(SOURCE).with_suffix("").parts
    return "/".join(parts[: 2 if parts[0] in ("stores", "doors") else 1])


async def store_record(walk: Walk) -> None:
    with tempfile.TemporaryDirectory() as home:
        async with served(Path(home)) as daemon:
            for number in range(2):
                walk.is_on = number == 1
                body = {"text": f"We ship on Fridays, number {number}", "scope": "workspace:web"}
                answer = await daemon.client.post("/v1/records", json=body)
                walk.is_on = False
                answer.raise_for_status()


def main() -> int:
    walk = Walk()
    threading.setprofile(walk.profile)
    sys.setprofile(walk.profile)
    asyncio.run(store_record(walk))
    sys.setprofile(None)
    print(*sorted(Path(file).relative_to(SOURCE).as_posix() for file in walk.files), sep="\n")
    print(f"{len(walk.files)} files, {len(walk.crossings)} crossings between packages")
    return 0


if __name__ == "__main__":
    sys.exit(main())
