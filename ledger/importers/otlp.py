"""OTLP JSON files of an OpenTelemetry collector: one request, or one on each line. Source: adapters IN-7."""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.errors import ImportRefused
from ledger.importers.base import ConversationReader, Importer
from ledger.importers.parts.call_histories import conversations_of
from ledger.importers.parts.documents import Document
from ledger.importers.parts.otlp_records import is_otlp, records_of
from ledger.importers.parts.reported_calls import ReportedCall, calls_of

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
    yield from conversations_of(FORMAT, _calls(found))


def _calls(found: Iterator[Document]) -> Iterator[tuple[int, ReportedCall]]:
    """Yield the calls with their lines; refuse the file at its end if none has content."""
    has_content = False
    for document in found:
        for call in calls_of(list(records_of(document.value, line=document.line))):
            has_content = has_content or call.content != "none"
            yield document.line, call
    if not has_content:
        raise ImportRefused("no_content", _NOTHING, line=1)


IMPORTER: Final = Importer(FORMAT, detects, read)
