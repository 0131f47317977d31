"""Spans for OpenTelemetry, off unless asked for; a request and each append, without content (trust S-16)."""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

from ledger.errors import InvalidInput
from ledger.ports import Appended, AppendRequest, Store
from ledger.server.observing import Seen


class Spans:
    """A span for each request, named for its route."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self._tracer = provider.get_tracer("memory-ledger")
        self._kind = SpanKind.SERVER
        self._parent = TraceContextTextMapPropagator()

    def begin(self, seen: Seen) -> None:
        """See `Watcher.begin`."""
        from opentelemetry import context, trace  # noqa: PLC0415 - an extra

        names = {b"traceparent", b"tracestate"}
        carrier = {name.decode(): value.decode("latin-1") for name, value in seen.scope["headers"] if name in names}
        parent = self._parent.extract(carrier)
        span = self._tracer.start_span(seen.method, context=parent, kind=self._kind)
        seen.extra["span"] = span
        seen.extra["token"] = context.attach(trace.set_span_in_context(span))

    def end(self, seen: Seen) -> None:
        """See `Watcher.end`."""
        from opentelemetry import context  # noqa: PLC0415 - an extra

        span: Any = seen.extra["span"]
        token: Any = seen.extra["token"]
        context.detach(token)
        span.update_name(f"{seen.method} {seen.route}")
        span.set_attribute("http.request.method", seen.method)
        span.set_attribute("http.route", seen.route)
        span.set_attribute("http.response.status_code", seen.status)
        if seen.code:
            span.set_attribute("error.type", seen.code)
        span.end()


def provider() -> Any:
    """Return what exports spans over OTLP; the variables ``OTEL_…`` say where to.

    Raises:
        InvalidInput: ``bad_setting``, if the packages are not there.
    """
    if find_spec("opentelemetry.sdk") is None:
        raise InvalidInput("bad_setting", "needs: pip install 'memory-ledger[tracing]'", field="MEMORY_LEDGER_TRACING")
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    made = TracerProvider(resource=Resource.create({"service.name": "memory-ledger"}))
    made.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return made


def trace_appends(store: Store, made: Any) -> None:
    """Give each append of *store* a span with its number of events."""
    tracer = made.get_tracer("memory-ledger")
    append = store.append

    async def traced(request: AppendRequest) -> Appended:
        with tracer.start_as_current_span("append", record_exception=False) as span:
            span.set_attribute("ledger.events", _events(request.writes))
            return await append(request)

    store.append = traced  # type: ignore[method-assign]  # the one store of a service that was asked to trace


def _events(writes: Sequence[Any]) -> int:
    return sum(len(write.events) for write in writes)
