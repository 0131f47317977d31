"""Spans for OpenTelemetry, off unless asked for; a request and each append, without content (trust S-16)."""

from importlib.util import find_spec
from typing import Any

from ledger.errors import InvalidInput
from ledger.ports import Appended, AppendRequest, EventStore
from ledger.server.observers import ObservedRequest
from ledger.stores.decorators import EventStoreDecorator


class Spans:
    """A span for each request, named for its route."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self._tracer = provider.get_tracer("memory-ledger")
        self._kind = SpanKind.SERVER
        self._parent = TraceContextTextMapPropagator()

    def begin(self, seen: ObservedRequest) -> None:
        """See `Watcher.begin`."""
        from opentelemetry import context, trace  # noqa: PLC0415 - an extra

        names = {b"traceparent", b"tracestate"}
        carrier = {name.decode(): value.decode("latin-1") for name, value in seen.scope["headers"] if name in names}
        parent = self._parent.extract(carrier)
        span = self._tracer.start_span(seen.method, context=parent, kind=self._kind)
        seen.extra["span"] = span
        seen.extra["token"] = context.attach(trace.set_span_in_context(span))

    def end(self, seen: ObservedRequest) -> None:
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

    spans = TracerProvider(resource=Resource.create({"service.name": "memory-ledger"}))
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return spans


class TracedEventStore(EventStoreDecorator):
    """Gives each append a span with its number of events."""

    def __init__(self, events: EventStore, spans: Any) -> None:
        super().__init__(events)
        self._tracer = spans.get_tracer("memory-ledger")

    async def append(self, request: AppendRequest) -> Appended:
        """See `ports.event_store.EventStore.append`."""
        with self._tracer.start_as_current_span("append", record_exception=False) as span:
            span.set_attribute("ledger.events", sum(len(write.events) for write in request.writes))
            return await super().append(request)
