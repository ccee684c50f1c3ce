"""Waiting for a task in the request that looks at it: `?wait=20`."""

from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from typing import Annotated, Final, TypeVar

from fastapi import Depends, Query, Request

from commonplace.jobs.waiter import Ending, Wait
from commonplace.server.auth import options, services
from commonplace.server.exchange import exchange_of
from commonplace.values.principal import Principal

LONGEST: Final = 30.0
_SHARE: Final = 0.8
T = TypeVar("T", bound=Ending)


class Patience:
    """Call it with who waits, for which task, and how it is looked at."""

    def __init__(self, request: Request, seconds: float) -> None:
        self._request = request
        # A request that is given up is told nothing of the task.
        self._seconds = min(seconds, _SHARE * options(request).request_timeout)

    async def __call__(self, who: Principal, id: str, look: Callable[[], Awaitable[T]]) -> T:
        if not self._seconds:
            return await look()
        began = perf_counter()
        try:
            wait = Wait(seconds=self._seconds, disconnect=partial(_disconnect, self._request))
            return await services(self._request).job_waiter.until(who, id, wait, look)
        finally:
            exchange_of(self._request.scope).waited += perf_counter() - began


async def patience(
    request: Request,
    wait: Annotated[
        float,
        Query(
            ge=0,
            le=LONGEST,
            allow_inf_nan=False,
            description="Answer when the task is over, or after so many seconds, whichever comes first. An answer that comes "
            "earlier with a task that is not over means that nobody can wait just now: pause before you ask again.",
        ),
    ] = 0.0,
) -> Patience:
    return Patience(request, wait)


Patient = Annotated[Patience, Depends(patience)]


async def _disconnect(request: Request) -> None:
    """Until the caller closes the connection."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
