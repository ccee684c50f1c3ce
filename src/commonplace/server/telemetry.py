"""The use cases, counted and traced: every service as it is, with an account kept of each call."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import Any, Final, cast

from commonplace.server.metrics import Metrics
from commonplace.server.traces import Tracing
from commonplace.service.services import Services

_NOT_A_SERVICE: Final = frozenset({"desk"})


class Observed:
    """Stands for `service`. What is no coroutine function passes through as it is."""

    def __init__(self, service: object, name: str, metrics: Metrics, tracing: Tracing | None) -> None:
        self._service = service
        self._name = name
        self._metrics = metrics
        self._tracing = tracing

    def __getattr__(self, name: str) -> Any:
        member = getattr(self._service, name)
        if not inspect.iscoroutinefunction(member):
            return member
        observed = self._observed(name, member)
        # The next time it is found without asking here.
        setattr(self, name, observed)
        return observed

    def _observed(self, name: str, use_case: Callable[..., Any]) -> Callable[..., Any]:
        async def observed(*args: Any, **kwargs: Any) -> Any:
            with self._watched(name):
                return await use_case(*args, **kwargs)

        return observed

    @contextmanager
    def _watched(self, name: str) -> Generator[None]:
        with self._metrics.call(self._name, name):
            if self._tracing is None:
                yield
            else:
                with self._tracing.call(f"{self._name}.{name}"):
                    yield


class _ObservedServices:
    """Stands for `Services`: each service is observed from its first use on."""

    def __init__(self, services: Services, metrics: Metrics, tracing: Tracing | None) -> None:
        self._services = services
        self._metrics = metrics
        self._tracing = tracing

    def __getattr__(self, name: str) -> Any:
        service: Any = getattr(self._services, name)
        if name not in _NOT_A_SERVICE:
            service = Observed(service, name, self._metrics, self._tracing)
        setattr(self, name, service)
        return service


def observe(services: Services, metrics: Metrics, tracing: Tracing | None) -> Services:
    return cast(Services, _ObservedServices(services, metrics, tracing))
