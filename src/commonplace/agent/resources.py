"""
Resources of an agent: files and pages whose text stands in its prompt.

They come from the agent's row, which only an admin may change. A page is fetched only if the operator's settings let agents fetch, and
kept for a while. What cannot be read is said in its place: a prompt that lacks something in silence helps nobody.
"""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Final

from commonplace.errors import CommonplaceError, Forbidden
from commonplace.markdown.confine import Folder
from commonplace.ports.clock import Clock
from commonplace.text.fence import shown
from commonplace.values.paths import expand_path

LARGEST: Final = 64 * 1024
LONGEST_TOGETHER: Final = 200_000
_KEPT: Final = timedelta(minutes=10)
_CUT: Final = "\n[Cut off here: the resource is longer than its room in the prompt.]"

Fetch = Callable[[str], Awaitable[str]]


class ResourceReader:
    """`fetch` None: pages are not fetched."""

    def __init__(self, clock: Clock, fetch: Fetch | None = None) -> None:
        self._clock = clock
        self._fetch = fetch
        self._pages: dict[str, tuple[datetime, str]] = {}

    async def texts(self, resources: Sequence[str]) -> tuple[str, ...]:
        """One for each, in order, with its name above it."""
        texts: list[str] = []
        room = LONGEST_TOGETHER
        for resource in resources:
            text = shown(await self._text(resource))
            most = min(room, LARGEST)
            if len(text) > most:
                text = text[:most] + _CUT
            room -= min(len(text), most)
            texts.append(f"## Resource {shown(resource)}\n\n{text}")
        return tuple(texts)

    async def _text(self, resource: str) -> str:
        try:
            if resource.startswith(("http://", "https://")):
                return await self._page(resource)
            return await asyncio.to_thread(_file, resource)
        except CommonplaceError as error:
            return f"[It could not be read: {error.message}]"

    async def _page(self, url: str) -> str:
        if self._fetch is None:
            raise Forbidden("Fetching is off. The operator switches it on in the settings.")
        now = self._clock.now()
        # Nobody's page is kept for longer than it counts.
        self._pages = {address: page for address, page in self._pages.items() if now - page[0] < _KEPT}
        if url not in self._pages:
            self._pages[url] = now, await self._fetch(url)
        return self._pages[url][1]


def _file(name: str) -> str:
    path = expand_path(Path(name))
    # One byte more than there is room for shows that it was cut.
    return Folder(path.parent).read((path.name,), 16 * LARGEST).data.decode("utf-8-sig", "replace")[: LARGEST + 1]
