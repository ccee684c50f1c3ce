"""
The frames of a stream of server-sent events, read from its bytes.

It knows nothing of our events and of no connection, so that a library's parser can take its place.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from dataclasses import dataclass, field


@dataclass(slots=True)
class FrameParser:
    """Yields the `data` of each frame. Comments and frames without data are skipped. `retry` is in seconds."""

    retry: float | None = None
    _decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))
    _rest: str = ""
    _data: list[str] = field(default_factory=list[str])

    def feed(self, part: bytes) -> Iterator[str]:
        text = self._rest + self._decoder.decode(part)
        # The two characters of a line break may come in two parts.
        is_cut = text.endswith("\r")
        lines = (text[:-1] if is_cut else text).replace("\r\n", "\n").replace("\r", "\n").split("\n")
        self._rest = lines.pop() + ("\r" if is_cut else "")
        for line in lines:
            if not line:
                if self._data:
                    yield "\n".join(self._data)
                self._data = []
            else:
                self._field(line)

    def _field(self, line: str) -> None:
        name, _, value = line.partition(":")
        value = value.removeprefix(" ")
        if name == "data":
            self._data.append(value)
        elif name == "retry" and value.isdecimal():
            self.retry = int(value[:9]) / 1000
