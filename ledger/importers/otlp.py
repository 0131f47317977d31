"""OTLP JSON files, as an OpenTelemetry collector writes them: one request, or one on each line. Source: adapters IN-7.

Every call of a model repeats the history, so a session is put together from what each call adds. A call that goes on
from an earlier place begins a branch ``id~n``, which has the whole history of that call.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.importers.base import ConversationReader, Document, Importer, conversation
from ledger.importers.model_calls import ModelCall, calls_of, kept_whole
from ledger.importers.otlp_records import is_otlp, records_of
from ledger.importers.prefix import branch_name, place, shared_entries
from ledger.importers.steps import hidden

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
    sessions: dict[str, _CallHistory] = {}
    shown = False
    for document in found:
        for call in calls_of(list(records_of(document.value, line=document.line))):
            sessions.setdefault(call.session_id, _CallHistory()).add(call, document.line)
            shown = shown or call.content != "none"
    if not shown:
        raise ImportRefused("no_content", _NOTHING, line=1)
    for session_id, history in sessions.items():
        for number, messages in enumerate(history.branches):
            yield conversation(FORMAT, branch_name(session_id, number), messages)


class _CallHistory:
    """The branches of a session: the entries of each with the lines that they were first seen on."""

    def __init__(self) -> None:
        self.branches: list[list[tuple[int, list[JsonObject]]]] = []
        self._ids: list[list[str]] = []
        self._known: set[str] = set()

    def add(self, call: ModelCall, line: int) -> None:
        """Add what is new of *call*."""
        goes = place(len(call.ids), [shared_entries(call.ids, ids) for ids in self._ids]) if call.ids else None
        if goes is None or (goes.forks and call.of_agent):  # it repeats what its calls of models show
            if not self.branches:
                self._begin()
            self._add_hidden(0, [kept_whole(call)], line)
            return
        begins = goes.branch is None or goes.forks
        branch, first = (len(self._ids), 0) if begins else (goes.branch or 0, goes.first)
        if branch == len(self._ids):
            self._begin()
        shown = call.entries[first:] if first else (*call.instructions, *call.entries)
        self._ids[branch] += call.ids[first:]
        self.branches[branch].extend((line, [entry]) for entry in shown)
        self._known.update(str(entry["entry_id"]) for entry in shown)
        self._add_hidden(branch, [*map(hidden, call.instructions), *call.besides, call.record], line)

    def _begin(self) -> None:
        self.branches.append([])
        self._ids.append([])

    def _add_hidden(self, branch: int, entries: list[JsonObject], line: int) -> None:
        new = [entry for entry in entries if entry["entry_id"] not in self._known]
        self._known.update(str(entry["entry_id"]) for entry in new)
        if new:
            self.branches[branch].append((line, new))


IMPORTER: Final = Importer(FORMAT, detects, read)
