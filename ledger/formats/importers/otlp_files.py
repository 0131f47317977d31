"""OTLP JSON files of an OpenTelemetry collector: one request, or one on each line. Source: adapters IN-7."""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.errors import ImportRefused
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import ConversationReader, Importer
from ledger.formats.importers.elements.steps import LEFT_OUT, NOT_UNDERSTOOD, Noticed
from ledger.formats.importers.opentelemetry.call_histories import conversations_of
from ledger.formats.importers.opentelemetry.otlp_dialects import DIALECTS, how_to_capture
from ledger.formats.importers.opentelemetry.otlp_records import is_otlp, records_of
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall, calls_of, left_out

FORMAT: Final = "otlp"
#: How many spans that became nothing are named.
_MOST_NAMED: Final = 1_000


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is a request of OTLP."""
    return is_otlp(found[0].value)


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the branches of each session, in the order in which they began.

    Raises:
        ImportRefused: ``no_content``, ``unknown_dialect``; or a span does not have the shape of its format.
    """
    notices: list[Noticed] = []
    yield from conversations_of(FORMAT, _calls(found, notices), notices)


def _calls(found: Iterator[Document], notices: list[Noticed]) -> Iterator[tuple[int, ReportedCall]]:
    """Yield the calls with their lines, and add to *notices* what became none; refuse a file if none has content."""
    has_content, dialects, more = False, set[str](), 0
    unknown: Noticed | None = None
    for document in found:
        records = list(records_of(document.value, line=document.line))
        for kind, text in left_out(records):
            notice = Noticed(kind, text, document.line)
            unknown = unknown or (notice if kind == NOT_UNDERSTOOD else None)
            more += len(notices) >= _MOST_NAMED
            notices += [notice] if len(notices) < _MOST_NAMED else []
        for call in calls_of(records):
            has_content = has_content or call.content != "none"
            dialects.update(call.dialects)
            yield document.line, call
    if more:
        notices.append(Noticed(LEFT_OUT, f"{more:,} more spans and log records became nothing", 1))
    if not has_content and unknown is not None:
        message = f"{unknown.text}; known are the semantic conventions, {', '.join(DIALECTS)}"
        raise ImportRefused("unknown_dialect", message, line=unknown.line)
    if not has_content:
        raise ImportRefused("no_content", f"no call of a model in it has content; {how_to_capture(dialects)}", line=1)


IMPORTER: Final = Importer(FORMAT, detects, read)
