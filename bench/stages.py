"""
Where the time of a search goes: the daemon inside this process, asked by wrk, with a watch on each stage of a request.

What a watch shows is the time from the beginning of a stage to its end, waiting included. With one client nobody waits for
anybody, so it is what the stage costs; with many clients most of it is waiting for a turn.
"""

from __future__ import annotations

import asyncio
import inspect
import time
from collections.abc import Callable, Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Final

import fastapi.routing
import uvicorn

from bench.daemon import CLIENTS, Load, address_of, calm, filled, script, wrk
from bench.scale import scratch
from bench.synthetic import Texts
from commonplace.compose.daemon import bound, running
from commonplace.compose.token import operator_token
from commonplace.doors.native import search as search_door
from commonplace.memory import holdings, recall
from commonplace.server.protocol import BoundedProtocol
from commonplace.server.request_log import RequestLog
from commonplace.service.account import Account
from commonplace.service.identity import Identity
from commonplace.settings import Settings, load_settings

STAGES: Final[tuple[tuple[str, Any, str], ...]] = (
    ("request", RequestLog, "__call__"),
    ("auth", Identity, "principal"),
    ("recall", recall.Recall, "search"),
    ("of it: looking whether the index is fresh", holdings.Holdings, "_up_to_date"),
    ("of it: gathering and ranking", recall, "_judge"),
    ("of it: reading the hits", recall.Recall, "_hits"),
    ("audit", Account, "note"),
    ("answer", search_door, "answer"),
    ("answer", fastapi.routing, "serialize_response"),
)
"""What is watched: a name, and the function that is the stage. Stages of one name are added up."""

_WHOLE: Final = ("auth", "recall", "audit", "answer")


class Watch:
    """Seconds by stage."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}
        self.requests = 0

    def around(self, name: str, work: Callable[..., Any]) -> Callable[..., Any]:
        async def watched(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return await work(*args, **kwargs)
            finally:
                self._add(name, began)

        def watched_at_once(*args: Any, **kwargs: Any) -> Any:
            began = time.perf_counter()
            try:
                return work(*args, **kwargs)
            finally:
                self._add(name, began)

        return watched if inspect.iscoroutinefunction(work) else watched_at_once

    def forget(self) -> None:
        self.seconds.clear()
        self.requests = 0

    def _add(self, name: str, began: float) -> None:
        self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - began
        self.requests += name == "request"

    def means(self, seen_by_client: float) -> dict[str, float]:
        """Milliseconds a request. What is left of the request is HTTP, parsing the body and finding the route."""
        each = {name: 1e3 * seconds / max(self.requests, 1) for name, seconds in self.seconds.items()}
        known = sum(each.get(name, 0.0) for name in _WHOLE)
        each["HTTP, routing, body, log"] = max(seen_by_client, each.pop("request", 0.0)) - known
        each["all, as the client sees it"] = seen_by_client
        return {name: round(ms, 3) for name, ms in each.items()}


@contextmanager
def watched() -> Generator[Watch]:
    """The stages with a watch on each, until the block ends."""
    watch = Watch()
    with ExitStack() as stack:
        for name, place, function in STAGES:
            stack.callback(setattr, place, function, place.__dict__[function])
            # A class method is found with its class bound to it.
            setattr(place, function, watch.around(name, getattr(place, function)))
        yield watch


def stages(load: Load) -> list[dict[str, Any]]:
    """One row a stage: milliseconds with one client, and with many, over SQLite in one process."""
    texts = Texts()
    with scratch("daemon-stages") as folder, address_of("sqlite", folder) as address:
        filled(address, texts, load.records)
        calm()
        settings = load_settings(home=folder / "home", store=address, port=0)
        settings.home.mkdir()
        # The loop that the daemon runs in.
        with asyncio.Runner(loop_factory=uvicorn.Config("").get_loop_factory()) as loop:
            alone, together = loop.run(_asked(settings, texts, load))
    order = [*dict.fromkeys(name for name, _, _ in STAGES if name != "request"), *list(alone)[-2:]]
    return [
        {"stage": name, "1 client, ms": alone.get(name), f"{load.clients} clients, ms": together.get(name)}
        for name in order
    ]


async def _asked(settings: Settings, texts: Texts, load: Load) -> tuple[dict[str, float], dict[str, float]]:
    with bound(settings) as taken, watched() as watch:
        url = f"http://127.0.0.1:{taken.getsockname()[1]}"
        async with running(settings) as app:
            config = uvicorn.Config(
                app, http=BoundedProtocol, ws="none", lifespan="off", log_config=None, log_level="warning"
            )
            serving = uvicorn.Server(config)
            task = asyncio.create_task(serving.serve(sockets=[taken]))
            asked = script(settings.home, texts, operator_token(settings))
            try:
                await asyncio.to_thread(wrk, url, asked, CLIENTS, load.warm_up)
                alone = await _means(watch, url, asked, 1, load.seconds)
                return alone, await _means(watch, url, asked, load.clients, load.seconds)
            finally:
                serving.should_exit = True
                await task


async def _means(watch: Watch, url: str, asked: Path, clients: int, seconds: int) -> dict[str, float]:
    # What was asked before is answered by then.
    await asyncio.sleep(2)
    watch.forget()
    found = await asyncio.to_thread(wrk, url, asked, clients, seconds)
    return watch.means(found["mean_ms"])
