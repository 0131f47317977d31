"""OTLP JSON files of an OpenTelemetry collector: one request, or one on each line. Source: adapters IN-7."""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.errors import ImportRefused
from ledger.importers.base import ConversationReader, Importer
from ledger.importers.parts.call_histories import conversations_of
from ledger.importers.parts.documents import Document
from ledger.importers.parts.otlp_records import is_otlp, records_of
from ledger.importers.parts.reported_calls import calls_of

FORMAT: Final = "otlp"
_NOTHING: Final = (
    "no call of a model in it has content; set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY and "
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental where the agent runs"
)


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is a request of OTLP."""
    return is_otlp(found[0].value)


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the branches of each session, in the order in which they began.

    Raises:
        ImportRefused: ``no_content``; or a span does not have the shape of its format.
    """
    calls = [
        (document.line, call)
        for document in found
        for call in calls_of(list(records_of(document.value, line=document.line)))
    ]
    if all(call.content == "none" for _, call in calls):
        raise ImportRefused("no_content", _NOTHING, line=1)
    yield from conversations_of(FORMAT, calls)


IMPORTER: Final = Importer(FORMAT, detects, read)
