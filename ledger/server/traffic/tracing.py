"""Spans for OpenTelemetry, off by default: one for each request and each append, without content (trust S-16)."""

from importlib.util import find_spec
from typing import Any

from ledger.errors import InvalidInput
from ledger.ports import Appended, AppendRequest, EventStore
from ledger.server.traffic.observers import ObservedRequest
from ledger.stores.decorators import EventStoreDecorator


class Spans:
    """Makes a span for each request, named after its route."""

    def __init__(self, provider: Any) -> None:
        from opentelemetry.trace import SpanKind  # noqa: PLC0415 - an extra
        from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator  # noqa: PLC0415

        self._tracer = provider.get_tracer("memory-ledger")
        self._kind = SpanKind.SERVER
        self._parent = TraceContextTextMapPropagator()

    def begin(self, observed: ObservedRequest) -> None:
        """See `RequestObserver.begin`."""
        from opentelemetry import context, trace  # noqa: PLC0415 - an extra

        names = {b"traceparent", b"tracestate"}
        carrier = {name.decode(): value.decode("latin-1") for name, value in observed.scope["headers"] if name in names}
        parent = self._parent.extract(carrier)
        span = self._tracer.start_span(observed.method, context=parent, kind=self._kind)
        observed.extra["span"] = span
        observed.extra["token"] = context.attach(trace.set_span_in_context(span))

    def end(self, observed: ObservedRequest) -> None:
        """See `RequestObserver.end`."""
        from opentelemetry import context  # noqa: PLC0415 - an extra

        span: Any = observed.extra["span"]
        token: Any = observed.extra["token"]
        context.detach(token)
        span.update_name(f"{observed.method} {observed.route}")
        span.set_attribute("http.request.method", observed.method)
        span.set_attribute("http.route", observed.route)
        span.set_attribute("http.response.status_code", observed.status)
        if observed.code:
            span.set_attribute("error.type", observed.code)
        span.end()


def provider() -> Any:
    """Return a tracer provider that exports over OTLP, to the address in the ``OTEL_…`` variables.

    Raises:
        InvalidInput: ``bad_setting``: the packages are not installed.
    """
    if find_spec("opentelemetry.sdk") is None:
        raise InvalidInput(
            "bad_setting",
            "run: pip install 'memory-ledger[tracing]'",
            field="MEMORY_LEDGER_TRACING",
        )
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter  # noqa: PLC0415
    from opentelemetry.sdk.resources import Resource  # noqa: PLC0415
    from opentelemetry.sdk.trace import TracerProvider  # noqa: PLC0415
    from opentelemetry.sdk.trace.export import BatchSpanProcessor  # noqa: PLC0415

    spans = TracerProvider(resource=Resource.create({"service.name": "memory-ledger"}))
    spans.add_span_processor(BatchSpanProcessor(OTLPSpanExporter()))
    return spans


class TracedEventStore(EventStoreDecorator):
    """Makes a span for each append, with its number of events."""

    def __init__(self, events: EventStore, spans: Any) -> None:
        super().__init__(events)
        self._tracer = spans.get_tracer("memory-ledger")

    async def append(self, request: AppendRequest) -> Appended:
        """See `ports.event_store.EventStore.append`."""
        with self._tracer.start_as_current_span("append", record_exception=False) as span:
            span.set_attribute("ledger.events", sum(len(write.events) for write in request.writes))
            return await super().append(request)
