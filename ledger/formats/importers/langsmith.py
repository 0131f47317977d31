"""Runs of LangSmith, as its export or API gives them: one on each line, or a list. Source: adapters IN-8."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    arguments_of,
    moment,
    session_name,
    shaped,
)
from ledger.formats.importers.elements.spool import in_order
from ledger.formats.importers.opentelemetry.call_histories import conversations_of
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall, read_call
from ledger.formats.importers.run_messages import (
    beside_messages,
    messages_in,
    part_entries,
    record_of,
    unpacked,
    unread_record,
)

FORMAT: Final = "langsmith"
_SESSIONS: Final = ("thread_id", "session_id", "conversation_id")
_USAGE: Final = ("prompt_tokens", "completion_tokens", "total_tokens")

#: What may be a text that is JSON.
_IO: Final = ("inputs", "outputs")


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the first document is a run, or a list of runs."""
    value = found[0].value
    return _is_run(value[0] if isinstance(value, list) and value else value)


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield the branches of each thread; runs are taken in dotted order, which is that of their beginnings.

    Raises:
        ImportRefused: ``bad_shape``.
    """
    threads: dict[str, str] = {}  # of all traces, when the first run is yielded
    runs = in_order(_ordered(found, threads))
    yield from conversations_of(FORMAT, ((line, _call(run, threads, line)) for line, run in runs))


def _ordered(found: Iterator[Document], threads: dict[str, str]) -> Iterator[tuple[str, tuple[int, JsonObject]]]:
    """Yield the dotted order, line and content of each run, and add the thread of its trace to *threads*."""
    for document in found:
        for run in _runs(document):
            thread = _thread(run)
            if thread is not None:
                threads.setdefault(str(run["trace_id"]), thread)
            yield run["dotted_order"], (document.line, run)


def _runs(document: Document) -> Iterator[JsonObject]:
    for run in document.value if isinstance(document.value, list) else [document.value]:
        if not _is_run(run):
            raise ImportRefused(
                "bad_shape", "must be a run with run_type, trace_id and dotted_order", line=document.line
            )
        yield run


def _is_run(value: Any) -> bool:
    return isinstance(value, dict) and all(
        isinstance(value.get(key), str) for key in ("run_type", "trace_id", "dotted_order")
    )


def _metadata(run: JsonObject) -> Mapping[str, Any]:
    extra = run.get("extra")
    if isinstance(extra, str):
        extra, _ = arguments_of(extra)
    metadata = extra.get("metadata") if isinstance(extra, Mapping) else None
    return metadata if isinstance(metadata, Mapping) else {}


def _thread(run: JsonObject) -> str | None:
    metadata = _metadata(run)
    return next((str(metadata[key]) for key in _SESSIONS if metadata.get(key)), None)


def _call(run: JsonObject, threads: Mapping[str, str], line: int) -> ReportedCall:
    run = {**run, **{name: unpacked(run[name]) for name in _IO if name in run}}
    ended = moment(run.get("end_time")) or moment(run.get("start_time"))
    session = session_name(threads.get(run["trace_id"], run["trace_id"]))
    base: JsonObject = {"session_id": session, "moment": ended}
    usage = {key: run[key] for key in _USAGE if run.get(key)}
    model = _metadata(run).get("ls_model_name")
    about = {name: value for name, value in (("model", model), ("usage", usage or None)) if value is not None}
    record = _record(run, about, ended)
    with shaped(f"run {run.get('id')}", line=line):
        before = messages_in(run.get("inputs"), "user") if run["run_type"] == "llm" else None
        if before is None:
            if run["run_type"] == "llm":
                record = unread_record(record, run.get("inputs"), f"run {run.get('id')}")
            return ReportedCall(**base, content="none", record=record)
        marks = {"trace_id": run["trace_id"], "run_id": run.get("id")}
        record = _record({**run, "inputs": beside_messages(run["inputs"])}, about, ended)
        answers = messages_in(run.get("outputs"), "assistant")
        return read_call(base, part_entries(before), part_entries(answers or []), record, marks, about)


def _record(run: JsonObject, about: JsonObject, ended: Any) -> JsonObject:
    named = f"run-{run.get('id') or run['dotted_order']}"
    return record_of(run, field="run", named=named, trace_id=run["trace_id"], about=about, ended=ended)


IMPORTER: Final = Importer(FORMAT, detects, read)
