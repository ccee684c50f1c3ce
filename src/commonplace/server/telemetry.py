"""
What is observed of a request: traces for an OpenTelemetry collector, if one is named, with a span a request and below it one for
each use case; and the use cases, counted and traced: every service as it is, with an account kept of each call.

The web framework has tracing of its own, which writes down whole queries. Ours does not, so that one stays off.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from typing import Any, Final, cast

from commonplace.errors import CommonplaceError, InvalidInput
from commonplace.server.metrics import Metrics
from commonplace.service.services import Services
from commonplace.values.principal import Principal

OFF: Final[dict[str, Any]] = {"tracing": False, "metrics": False, "logs": False, "auto_configure": False}
"""What the framework is told about its own."""

_PATIENCE: Final = 3_000
_NOT_A_SERVICE: Final = frozenset({"desk"})


class Tracing:
    """Made by `start_tracing`; `close` sends what is left."""

    def __init__(self, provider: Any) -> None:
        # Part of the extra `tracing`.
        from opentelemetry import trace  # noqa: PLC0415
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self._provider = provider
        self._tracer: Any = provider.get_tracer("commonplace")
        self._trace: Any = trace
        self._propagator = TraceContextTextMapPropagator()

    @contextmanager
    def request(self, method: str, headers: Mapping[str, str]) -> Generator[Any]:
        """The span of a request, below the one its caller sent. Its name is given once the route is known."""
        parent = self._propagator.extract({**headers})
        kind = self._trace.SpanKind.SERVER
        with self._tracer.start_as_current_span(
            method, context=parent, kind=kind, record_exception=False, set_status_on_exception=False
        ) as span:
            yield span

    def end(self, span: Any, route: str, attributes: Mapping[str, object]) -> None:
        span.update_name(f"{attributes['http.request.method']} {route}")
        span.set_attributes({name: value for name, value in attributes.items() if value is not None})
        if int(str(attributes.get("http.response.status_code") or 500)) >= 500:
            span.set_status(self._trace.StatusCode.ERROR)

    @contextmanager
    def call(self, name: str) -> Generator[None]:
        with self._tracer.start_as_current_span(name, record_exception=False, set_status_on_exception=False) as span:
            try:
                yield
            except BaseException as error:
                span.set_attribute(
                    "error.type", error.code if isinstance(error, CommonplaceError) else "internal_error"
                )
                raise

    def close(self) -> None:
        """Blocks, for at most a few seconds."""
        self._provider.force_flush(_PATIENCE)
        self._provider.shutdown()


def start_tracing(endpoint: str) -> Tracing:
    """
    Send traces to the collector at `endpoint`, by OTLP over HTTP.

    Raises:
        InvalidInput: the extra `tracing` is not installed.
    """
    try:
        # Part of the extra `tracing`, and slow to load.
        from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
        from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
        from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
        from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415
    except ImportError as missing:
        raise InvalidInput(
            "otlp_endpoint is set, and what sends traces is not installed. Run `pip install 'commonplace[tracing]'`, or "
            "unset it."
        ) from missing
    provider = TracerProvider(resource=Resource.create({"service.name": "commonplace"}), shutdown_on_exit=False)
    place = endpoint if endpoint.endswith("/v1/traces") else f"{endpoint.rstrip('/')}/v1/traces"
    provider.add_span_processor(BatchSpanProcessor(OTLPSpanExporter(endpoint=place)))
    return Tracing(provider)


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
            is_browsing = bool(args) and isinstance(args[0], Principal) and args[0].is_browsing
            with self._watched(name, is_browsing):
                return await use_case(*args, **kwargs)

        return observed

    @contextmanager
    def _watched(self, name: str, is_browsing: bool) -> Generator[None]:
        with self._metrics.call(self._name, name, is_browsing=is_browsing):
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
