"""Arguments that are refused: what is called, and the error, code and field that answer it. Source: trust §8, §9."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, NamedTuple

from ledger.errors import (
    Conflict,
    DuplicateEntry,
    EntryNotFound,
    InvalidInput,
    LedgerError,
    SessionNotFound,
    VersionConflict,
    VersionNotFound,
)
from ledger.events.ids import Stream
from ledger.formats.importers import Conversation
from ledger.memory import MemoryLedger

MIB = 1024 * 1024
SAID = {"role": "user", "content": "hello", "entry_id": "e-1"}
CALL = {"kind": "tool_call", "tool_name": "t", "content": "x"}
NAIVE = datetime(2026, 1, 1)  # noqa: DTZ001 - that is what is wrong with it

Act = Callable[[MemoryLedger], Any]


class Refusal(NamedTuple):
    act: Act
    error: type[LedgerError]
    code: str
    field: str | None = None


def deep(levels: int) -> dict[str, Any]:
    value: dict[str, Any] = {}
    for _ in range(levels):
        value = {"a": value}
    return value


CYCLE: dict[str, Any] = {}
CYCLE["a"] = CYCLE


def text(code: str, content: Any) -> Refusal:
    return Refusal(lambda ledger: ledger.add_user_message("s", content), InvalidInput, code, "content")


def about(code: str, field: str, **fields: Any) -> Refusal:
    """An entry whose text is fine and something beside it is not."""
    return Refusal(lambda ledger: ledger.add_user_message("s", "hello", **fields), InvalidInput, code, field)


def entry(code: str, field: str, raw: Any) -> Refusal:
    return Refusal(
        lambda ledger: ledger.add_entries("s", [SAID, raw]), InvalidInput, code, f"entries[1]{field and '.'}{field}"
    )


def batch(code: str, entries: Any, field: str = "entries") -> Refusal:
    return Refusal(lambda ledger: ledger.add_entries("s", entries), InvalidInput, code, field)


def expecting(error: type[LedgerError], code: str, version: Any) -> Refusal:
    field = "expected_version" if error is InvalidInput else None
    texts = [{"role": "user", "content": "hello"}]
    return Refusal(lambda ledger: ledger.add_entries("s", texts, expected_version=version), error, code, field)


def call(code: str, field: str, *arguments: Any, **fields: Any) -> Refusal:
    return Refusal(lambda ledger: ledger.add_tool_call("s", *arguments, **fields), InvalidInput, code, field)


def session(code: str, name: Any) -> Refusal:
    return Refusal(lambda ledger: ledger.add_user_message(name, "hello"), InvalidInput, code, "session_id")


def user(code: str, name: Any) -> Refusal:
    return Refusal(lambda ledger: ledger.add_user_message("s", "hello", user_id=name), InvalidInput, code, "user_id")


def hundred(place: int, **changes: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "fine", **(changes if at == place else {})} for at in range(100)]


ENTRIES: dict[str, Refusal] = {
    # what was said
    "I-33 empty": text("empty_content", ""),
    "I-33 blank": text("empty_content", " \n\t\u3000"),
    "I-1 NUL": text("nul_not_allowed", "a\0b"),
    "I-3 lone surrogate": text("invalid_unicode", "a\ud800"),
    "I-4 reversed pair": text("invalid_unicode", "\udc00\ud800"),
    "N-5 two MiB": text("content_too_large", "x" * 2 * MIB),
    "N-5 a byte too many": text("content_too_large", "x" * MIB + "x"),
    "N-5 in bytes": text("content_too_large", "é" * (MIB // 2) + "x"),
    "no text": text("wrong_type", None),
    "bytes": text("wrong_type", b"hello"),
    "a number": text("wrong_type", 5),
    "a context of nothing": Refusal(lambda ledger: ledger.add_context("s", ""), InvalidInput, "empty_content"),
    "an answer that is not JSON": Refusal(
        lambda ledger: ledger.add_tool_result("s", "t", {1, 2}), InvalidInput, "wrong_type", "content"
    ),
    "an answer with NaN": Refusal(
        lambda ledger: ledger.add_tool_result("s", "t", {"a": float("nan")}), InvalidInput, "invalid_json", "content"
    ),
    "an answer that is too long as JSON": Refusal(
        lambda ledger: ledger.add_tool_result("s", "t", ["x" * 1000] * 1100), InvalidInput, "content_too_large"
    ),
    # who said it, and what it is
    "I-31 System": entry("unknown_role", "role", {"role": "System", "content": "x"}),
    "I-31 system and a blank": entry("unknown_role", "role", {"role": "system ", "content": "x"}),
    "I-31 Cyrillic": entry("unknown_role", "role", {"role": "s\u0443stem", "content": "x"}),
    "I-31 full-width": entry("unknown_role", "role", {"role": "\uff53ystem", "content": "x"}),
    "a role that is a list": entry("unknown_role", "role", {"role": ["user"], "content": "x"}),
    "a message of a tool": entry("unknown_role", "role", {"kind": "message", "role": "tool", "content": "x"}),
    "no role": entry("unknown_role", "role", {"content": "x"}),
    "unknown kind": entry("unknown_kind", "kind", {"kind": "note", "content": "x"}),
    "R-GEN-6 a summary": entry("unknown_kind", "kind", {"kind": "summary", "content": "x"}),
    "a kind that is a number": entry("unknown_kind", "kind", {"kind": 5, "content": "x"}),
    "I-30 unknown field": entry("unknown_field", "summaryId", {**SAID, "summaryId": "x"}),
    "I-30 unknown keyword": about("unknown_field", "colour", colour="red"),
    "a field that is no text": entry("unknown_field", "5", {**SAID, 5: "x"}),
    "an entry that is a text": entry("wrong_type", "", "hello"),
    "an entry that is a list": entry("wrong_type", "", ["user", "hello"]),
    "a call of nothing": call("missing_field", "tool_name", ""),
    "a tool that is a number": call("wrong_type", "tool_name", 5),
    "a tool of 513 bytes": call("name_too_long", "tool_name", "x" * 513),
    "a tool with a surrogate": call("invalid_unicode", "tool_name", "\ud800"),
    "a call id with NUL": call("nul_not_allowed", "tool_call_id", "t", tool_call_id="\0"),
    "a call id of 513 bytes": call("name_too_long", "tool_call_id", "t", tool_call_id="x" * 513),
    "a call id that is a number": call("wrong_type", "tool_call_id", "t", tool_call_id=7),
    "arguments with Infinity": call("invalid_json", "arguments", "t", {"a": float("inf")}),
    "arguments that are a set": call("wrong_type", "arguments", "t", {1, 2}),
    "an unknown status": Refusal(
        lambda ledger: ledger.add_tool_result("s", "t", "x", tool_status="fine"),  # type: ignore[arg-type]
        InvalidInput,
        "unknown_status",
        "tool_status",
    ),
    "a status that is a list": Refusal(
        lambda ledger: ledger.add_tool_result("s", "t", "x", tool_status=["ok"]),  # type: ignore[arg-type]
        InvalidInput,
        "unknown_status",
    ),
    "a source that is a number": Refusal(
        lambda ledger: ledger.add_context("s", "x", 5),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "source",
    ),
    "a source with NUL": Refusal(lambda ledger: ledger.add_context("s", "x", "\0"), InvalidInput, "nul_not_allowed"),
    "metadata of a context that is a list": Refusal(
        lambda ledger: ledger.add_context("s", "x", "y", metadata=[1]),  # type: ignore[typeddict-item]
        InvalidInput,
        "wrong_type",
        "metadata",
    ),
    # JSON beside it
    "I-5 NaN": about("invalid_json", "metadata", metadata={"a": float("nan")}),
    "I-11 2**64": about("number_out_of_range", "metadata", metadata={"a": 2**64}),
    "I-15 ten thousand deep": about("too_deep", "metadata", metadata=deep(10_000)),
    "I-15 one too deep": about("too_deep", "metadata", metadata=deep(32)),
    "a cycle": about("too_deep", "metadata", metadata=CYCLE),
    "N-5 huge": about("metadata_too_large", "metadata", metadata={"a": "x" * 5 * MIB}),
    "N-5 a byte too many in metadata": about("metadata_too_large", "metadata", metadata={"a": "x" * (16 * 1024 - 7)}),
    "N-2 many values": about("too_many_values", "metadata", metadata={"a": [0] * 100_000}),
    "N-2 many keys": about("too_many_keys", "metadata", metadata={str(n): n for n in range(1_001)}),
    "N-2 a long key": about("key_too_long", "metadata", metadata={"k" * 257: 1}),
    "a set": about("wrong_type", "metadata", metadata={"a": {1}}),
    "a key that is a number": about("wrong_type", "metadata", metadata={1: 1}),
    "metadata that is a text": about("wrong_type", "metadata", metadata="x"),
    "data that is an object": about("wrong_type", "data", data=object()),
    "data of seven MiB": about("data_too_large", "data", data="x" * 7 * MIB),
    "data and arguments of nine MiB": entry(
        "data_too_large", "", {**CALL, "arguments": ["x" * MIB] * 4, "data": ["x" * MIB] * 5}
    ),
    # ids, counts, times
    "N-4 an id with a blank": about("bad_id", "entry_id", entry_id="a b"),
    "N-4 an id of 129": about("bad_id", "entry_id", entry_id="a" * 129),
    "N-4 an id with a line end": about("bad_id", "entry_id", entry_id="a\n"),
    "an empty id": about("bad_id", "entry_id", entry_id=""),
    "an id that is a number": about("bad_id", "entry_id", entry_id=5),
    "I-29 True for a number": about("wrong_type", "tokens", tokens=True),
    "I-29 1.0 for an integer": about("wrong_type", "tokens", tokens=1.0),
    "I-29 a text for an integer": about("wrong_type", "tokens", tokens="5"),
    "fewer than no tokens": about("wrong_type", "tokens", tokens=-1),
    "2**63 tokens": about("wrong_type", "tokens", tokens=2**63),
    "N-10 an empty key": about("bad_idempotency_key", "idempotency_key", idempotency_key=""),
    "N-10 a key of 10 KB": about("bad_idempotency_key", "idempotency_key", idempotency_key="k" * 10_240),
    "N-10 a key that is not ASCII": about("bad_idempotency_key", "idempotency_key", idempotency_key="é"),
    "N-10 a key with a line end": about("bad_idempotency_key", "idempotency_key", idempotency_key="k\r\n"),
    "N-10 a key of a number": about("bad_idempotency_key", "idempotency_key", idempotency_key=5),
    "I-43 a naive time": about("bad_time", "created_at", created_at=NAIVE),
    "I-43 a naive time in words": about("bad_time", "created_at", created_at="2026-01-01T00:00:00"),
    "I-43 30 February": about("bad_time", "created_at", created_at="2026-02-30T00:00:00Z"),
    "I-43 year 10000": about("bad_time", "created_at", created_at="10000-01-01T00:00:00Z"),
    "I-43 year 0": about("bad_time", "created_at", created_at="0000-01-01T00:00:00Z"),
    "I-43 second 60": about("bad_time", "created_at", created_at="2026-01-01T00:00:60Z"),
    "I-43 offset 99:99": about("bad_time", "created_at", created_at="2026-01-01T00:00:00+99:99"),
    "a time that is a number": about("bad_time", "created_at", created_at=1767225600),
}

BATCHES: dict[str, Refusal] = {
    "N-6 no entry": batch("batch_size", []),
    "N-6 1,001 entries": batch("batch_size", [SAID] * 1_001),
    "I-49 entry 57 of 100": batch("empty_content", hundred(57, content=""), "entries[57].content"),
    "entry 57 of 100 has a bad role": batch("unknown_role", hundred(57, role="User"), "entries[57].role"),
    "a batch that is none": batch("wrong_type", None),
    "a batch that is a number": batch("wrong_type", 5),
    "a batch that runs dry": batch("wrong_type", (each for each in [SAID])),
    "a batch that is one entry": batch("wrong_type", SAID),
    "a batch that is a text": batch("wrong_type", "hello", "entries[0]"),
    "I-45 stale": expecting(VersionConflict, "version_conflict", 7),
    "I-45 minus one": expecting(InvalidInput, "bad_version", -1),
    "I-45 2**63": expecting(InvalidInput, "bad_version", 2**63),
    "I-45 a text": expecting(InvalidInput, "wrong_type", "0"),
    "False for version 0": expecting(InvalidInput, "wrong_type", False),
    "0.0 for version 0": expecting(InvalidInput, "wrong_type", 0.0),
}

NAMES: dict[str, Refusal] = {
    "no session": session("bad_name", ""),
    "N-3 a slash": session("bad_name", "a/b"),
    "N-3 a backslash": session("bad_name", "a\\b"),
    "I-36 a path": session("bad_name", "../../etc/passwd"),
    "N-3 dots": session("bad_name", ".."),
    "I-37 NUL": session("bad_name", "a\0"),
    "N-3 C1": session("bad_name", "a\x9bb"),
    "N-3 blank at the end": session("bad_name", "a "),
    "N-3 no-break space": session("bad_name", "a\u00a0b"),
    "N-3 zero-width": session("bad_name", "a\u200bb"),
    "R-1 a separator": session("bad_name", "a\x1fb"),
    "a surrogate": session("bad_name", "\ud800"),
    "N-3 256 characters": session("bad_name", "a" * 256),
    "N-3 513 bytes": session("bad_name", "日" * 171),
    "I-38 60,000 characters": session("bad_name", "a" * 60_000),
    "a session that is a number": session("wrong_type", 5),
    "a session that is none": session("wrong_type", None),
    "a user with a slash": user("bad_name", "a/b"),
    "a user that is a number": user("wrong_type", 5),
    "False for no user": user("wrong_type", False),
    "0 for no user": user("wrong_type", 0),
    "a conversation's name": Refusal(
        lambda ledger: ledger.import_conversations([Conversation("openai-chat", "a/b", ())]),
        InvalidInput,
        "bad_name",
        "session_id",
    ),
    "the user of a list": Refusal(
        lambda ledger: ledger.list_sessions(user_id="a\0"), InvalidInput, "bad_name", "user_id"
    ),
}


async def read_all(ledger: MemoryLedger, session_id: str | None) -> list[bytes]:
    return [line async for line in ledger.export_file(session_id)]


#: Of a session that is not there.
READING: dict[str, Refusal] = {
    "get_state": Refusal(lambda ledger: ledger.get_state("nobody"), SessionNotFound, "session_not_found"),
    "get_history": Refusal(lambda ledger: ledger.get_history("nobody"), SessionNotFound, "session_not_found"),
    "get_stats at a version": Refusal(
        lambda ledger: ledger.get_stats("nobody", version=1), SessionNotFound, "session_not_found"
    ),
    "get_context_for_llm at a moment": Refusal(
        lambda ledger: ledger.get_context_for_llm("nobody", at=datetime(2026, 1, 1, tzinfo=UTC)),
        SessionNotFound,
        "session_not_found",
    ),
    "diff": Refusal(lambda ledger: ledger.diff("nobody", 1, 2), SessionNotFound, "session_not_found"),
    "export_session": Refusal(lambda ledger: ledger.export_session("nobody"), SessionNotFound, "session_not_found"),
    "export_file": Refusal(lambda ledger: read_all(ledger, "nobody"), SessionNotFound, "session_not_found"),
    "export_file of everything": Refusal(lambda ledger: read_all(ledger, None), SessionNotFound, "session_not_found"),
    "verify": Refusal(lambda ledger: ledger.verify("nobody"), SessionNotFound, "session_not_found"),
    "compress": Refusal(lambda ledger: ledger.compress("nobody"), SessionNotFound, "session_not_found"),
    "edit_entry": Refusal(lambda ledger: ledger.edit_entry("nobody", "e", "x"), EntryNotFound, "entry_not_found"),
    "remove_entry": Refusal(lambda ledger: ledger.remove_entry("nobody", "e"), EntryNotFound, "entry_not_found"),
    "an unknown notification": Refusal(
        lambda ledger: ledger.on("added", print),  # type: ignore[arg-type]
        InvalidInput,
        "unknown_notification",
        "event",
    ),
    "a handler that cannot be called": Refusal(
        lambda ledger: ledger.on("compressed", "print"),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "handler",
    ),
    "a summarizer that cannot be called": Refusal(
        lambda ledger: ledger.set_summarizer("s", "gpt"),  # type: ignore[arg-type]
        InvalidInput,
        "bad_summarizer",
        "summarizer",
    ),
    "a list of no rows": Refusal(lambda ledger: ledger.list_sessions(limit=0), InvalidInput, "bad_limit", "limit"),
    "N-6 a list of 1,001 rows": Refusal(
        lambda ledger: ledger.list_sessions(limit=1_001), InvalidInput, "bad_limit", "limit"
    ),
    "a list of True rows": Refusal(
        lambda ledger: ledger.list_sessions(limit=True), InvalidInput, "wrong_type", "limit"
    ),
    "a list of '5' rows": Refusal(
        lambda ledger: ledger.list_sessions(limit="5"),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "limit",
    ),
    "a list after nothing known": Refusal(
        lambda ledger: ledger.list_sessions(after="2026-01-01"),  # type: ignore[arg-type]
        InvalidInput,
        "bad_cursor",
        "after",
    ),
    "a list after a naive moment": Refusal(
        lambda ledger: ledger.list_sessions(after=(NAIVE, Stream.of("n", "s").stream_id)),
        InvalidInput,
        "bad_cursor",
        "after",
    ),
}

#: Of a session that is there, at version 2.
LOOKING_BACK: dict[str, Refusal] = {
    "version 0": Refusal(lambda ledger: ledger.get_state("s", version=0), VersionNotFound, "version_not_found"),
    "metrics of a kind that is none": Refusal(
        lambda ledger: ledger.get_metrics("s", kind="assistant"), InvalidInput, "bad_kind", "kind"
    ),
    "version 3": Refusal(lambda ledger: ledger.get_stats("s", version=3), VersionNotFound, "version_not_found"),
    "version -1": Refusal(lambda ledger: ledger.get_context("s", version=-1), VersionNotFound, "version_not_found"),
    "version 2**63": Refusal(
        lambda ledger: ledger.get_state("s", version=2**63), InvalidInput, "number_out_of_range", "version"
    ),
    "version True": Refusal(lambda ledger: ledger.get_state("s", version=True), InvalidInput, "wrong_type", "version"),
    "version '1'": Refusal(
        lambda ledger: ledger.get_state("s", version="1"),  # type: ignore[typeddict-item]
        InvalidInput,
        "wrong_type",
        "version",
    ),
    "version 1.0": Refusal(
        lambda ledger: ledger.get_summaries("s", version=1.0),  # type: ignore[typeddict-item]
        InvalidInput,
        "wrong_type",
        "version",
    ),
    "both": Refusal(
        lambda ledger: ledger.get_state("s", version=1, at=datetime(2026, 1, 1, tzinfo=UTC)),
        InvalidInput,
        "bad_version",
        "at",
    ),
    "I-43 a naive moment": Refusal(lambda ledger: ledger.get_state("s", at=NAIVE), InvalidInput, "bad_time", "at"),
    "a moment that is a number": Refusal(
        lambda ledger: ledger.get_state("s", at=1767225600),  # type: ignore[typeddict-item]
        InvalidInput,
        "bad_time",
        "at",
    ),
    "before the first event": Refusal(
        lambda ledger: ledger.get_state("s", at=datetime(1970, 1, 1, tzinfo=UTC)), VersionNotFound, "version_not_found"
    ),
    "a misspelt keyword": Refusal(
        lambda ledger: ledger.get_stats("s", verison=1),  # type: ignore[call-arg]
        InvalidInput,
        "unknown_field",
        "verison",
    ),
    "history at version 0": Refusal(
        lambda ledger: ledger.get_history("s", version=0), VersionNotFound, "version_not_found"
    ),
    "history at version 3": Refusal(
        lambda ledger: ledger.get_history("s", version=3), VersionNotFound, "version_not_found"
    ),
    "history at version '1'": Refusal(
        lambda ledger: ledger.get_history("s", version="1"),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "version",
    ),
    "diff with version 3": Refusal(lambda ledger: ledger.diff("s", 1, 3), VersionNotFound, "version_not_found"),
    "diff with '1'": Refusal(lambda ledger: ledger.diff("s", "1", 2), InvalidInput, "bad_time", "at"),
    "diff with a config that is none": Refusal(
        lambda ledger: ledger.diff("s", 1, {"window": {"type": "telepathy"}}),
        InvalidInput,
        "bad_config",
        "window.type",
    ),
    "diff with 1.5": Refusal(
        lambda ledger: ledger.diff("s", 1.5, 2),  # type: ignore[arg-type]
        InvalidInput,
        "bad_config",
        "config",
    ),
    "events after -1": Refusal(
        lambda ledger: ledger.get_events("s", after_version=-1), InvalidInput, "bad_version", "after_version"
    ),
    "events after 2**63": Refusal(
        lambda ledger: ledger.get_events("s", after_version=2**63), InvalidInput, "bad_version", "after_version"
    ),
    "I-41 -1 events": Refusal(lambda ledger: ledger.get_events("s", limit=-1), InvalidInput, "bad_limit", "limit"),
    "I-41 10**20 events": Refusal(
        lambda ledger: ledger.get_events("s", limit=10**20), InvalidInput, "bad_limit", "limit"
    ),
    "'5' events": Refusal(
        lambda ledger: ledger.get_events("s", limit="5"),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "limit",
    ),
    "edit to NUL": Refusal(
        lambda ledger: ledger.edit_entry("s", "e-1", "\0"), InvalidInput, "nul_not_allowed", "content"
    ),
    "edit to nothing": Refusal(
        lambda ledger: ledger.edit_entry("s", "e-1", ""), InvalidInput, "empty_content", "content"
    ),
    "edit to two MiB": Refusal(
        lambda ledger: ledger.edit_entry("s", "e-1", "x" * 2 * MIB), InvalidInput, "content_too_large", "content"
    ),
    "edit of nobody": Refusal(lambda ledger: ledger.edit_entry("s", "e-2", "x"), EntryNotFound, "entry_not_found"),
    "a known id with other content": Refusal(
        lambda ledger: ledger.add_user_message("s", "goodbye", entry_id="e-1"), DuplicateEntry, "duplicate_entry"
    ),
    "an expected version for a message": Refusal(
        lambda ledger: ledger.add_user_message("s", "hello", expected_version=1),  # type: ignore[call-arg]
        InvalidInput,
        "unknown_field",
        "expected_version",
    ),
    "no such compaction": Refusal(
        lambda ledger: ledger.compress("s", key="nightly"), InvalidInput, "no_compaction", "key"
    ),
    "too few entries": Refusal(lambda ledger: ledger.compress("s"), Conflict, "not_enough_entries"),
    "force that is a text": Refusal(
        lambda ledger: ledger.compress("s", force="no"),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "force",
    ),
    "end that is a text": Refusal(
        lambda ledger: ledger.clear_session("s", end="no"),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "end",
    ),
    "an unknown field of the config": Refusal(
        lambda ledger: ledger.update_config("s", {"maxEntrees": 5}), InvalidInput, "bad_config", "maxEntrees"
    ),
    "True for a number in the config": Refusal(
        lambda ledger: ledger.update_config("s", {"maxEntries": True}),
        InvalidInput,
        "bad_config",
        "maxEntries",
    ),
    "a config that is a list": Refusal(
        lambda ledger: ledger.update_config("s", [1]),  # type: ignore[arg-type]
        InvalidInput,
        "bad_config",
        "strategies[0]",
    ),
}

WRITING = {**ENTRIES, **BATCHES, **NAMES}
