"""All lines of the report: those with a goal that releases are measured by, and more."""

from collections.abc import Mapping

from bench.rows import Goal, Row


def _most(number: float, unit: str = "") -> Goal:
    return Goal(number, unit=unit)


def _least(number: float) -> Goal:
    return Goal(number, least=True)


def _row(workload: str, key: str, name: str, parts: Mapping[str, Goal | None] | Goal | None = None) -> Row:
    """Return a row with these *parts*, or with one figure and its goal."""
    return Row(key=key, workload=workload, name=name, parts=parts if isinstance(parts, Mapping) else {"ratio": parts})


MUST_SHOW = (
    _row(
        "append",
        "append",
        "append p50 to plain psycopg, same kind of client",
        {"store": _most(1.4), "library": _most(1.7), "own ids": _most(1.8), "sync facade": _most(2.2)},
    ),
    _row("growing", "long", "append at length 100,000 to length 10", _most(1.05)),
    _row("first-append", "first append", "first append of a new process: 100,000 entries to 100", _most(1.5)),
    _row("first-window", "first window", "first bounded window of a new process: 20,000 entries to 100", _most(1.5)),
    _row(
        "first-window",
        "first window to select",
        "first bounded window of a new process to a plain SELECT of the rows shown, 5,000 entries",
        _most(3),
    ),
    _row(
        "first-append",
        "memory",
        "memory of a process for a 100,000-entry session, above an empty one",
        _most(25, " MB"),
    ),
    _row(
        "writers",
        "writers",
        "256 writers in one process to our own one-commit mode",
        {"store": _least(25), "library": _least(20)},
    ),
    _row(
        "writers-cpu",
        "writers cpu",
        "256 writers: CPU of client and server per event to a bulk insert of the same rows: store",
        _most(2.5),
    ),
    _row("bulk", "bulk", "bulk append of 1,000 to COPY", {"store": _most(3), "library": _most(4.5)}),
    _row("state-at", "state at", "state as of version k to a scan of all rows", _most(0.5)),
    _row("replay", "replay", "replay of 100,000 events to COPY + JSON decode: throughput", _least(0.5)),
    _row(
        "disk",
        "disk",
        "bytes on disk to the plain table, lengths 10 … 10,000",
        dict.fromkeys(("10", "100", "1,000", "10,000"), _most(2)),
    ),
    _row("listing", "listing", "first listing of 20,000 sessions to a scan of their first events", _most(10)),
    _row(
        "what-if",
        "what-if",
        "what-if events/s at 4,000 entries to 500",
        dict.fromkeys(("full", "rolling", "max_tokens", "token_threshold"), _least(0.85)),
    ),
    _row(
        "rebuild",
        "rebuild",
        "rebuild of 4,000 entries, until its window is shown, to the what-if of the same config",
        dict.fromkeys(("max_tokens", "token_threshold"), _most(2)),
    ),
    _row(
        "rebuild",
        "rebuild growing",
        "rebuild events/s at 4,000 entries to 500",
        dict.fromkeys(("max_tokens", "token_threshold"), _least(0.85)),
    ),
    _row(
        "import",
        "import",
        "import of 100,000 entries to a bulk append of the same, and its memory to an import of 10,000",
        {"throughput": _least(0.6), "peak memory": _most(1.2)},
    ),
    _row("verify", "verify", "`verify`, events/s to SHA-256 over the same bytes read by COPY", _least(0.4)),
    _row(
        "http",
        "http",
        "append over HTTP, separate process, 8 clients, to a bare route with one durable INSERT",
        _least(0.7),
    ),
)

MORE = (
    _row(
        "append",
        "append cpu",
        "append: CPU of client and server to that of a plain INSERT",
        dict.fromkeys(("store", "library", "own ids", "sync facade")),
    ),
    _row("overhead", "overhead", "append to a ledger in memory: CPU to a fixed piece of pure Python"),
    _row("growing", "growing", "append at other lengths to length 10", dict.fromkeys(("1,000", "10,000"))),
    _row(
        "writers",
        "writers plain",
        "256 writers to plain psycopg on 16 connections",
        dict.fromkeys(("store", "library")),
    ),
    _row(
        "few-writers",
        "few writers",
        "8 writers to plain psycopg on 16 connections",
        dict.fromkeys(("store", "library")),
    ),
    _row("writers-cpu", "writers copy", "256 writers: CPU of client and server per event to COPY of the same rows"),
    _row(
        "window",
        "window",
        "window of 5,000 entries in a warm process to a plain SELECT of the rows shown",
        dict.fromkeys(("newest 21", "all")),
    ),
    _row(
        "first-window",
        "first full window",
        "first window of all 5,000 entries in a new process to a plain SELECT of them",
    ),
    _row("state-at", "whole state at", "state as of version k, with all entries, to a scan of all rows"),
    _row(
        "search",
        "search",
        "search in 100,000 entries to handwritten SQL: median latency",
        {"library": _most(1), "store": None},
    ),
    _row("search", "indexing", "indexing 100,000 entries to COPY and CREATE INDEX: throughput"),
    _row("http", "http library", "append over HTTP, 8 clients, to the library in one process: throughput"),
    _row(
        "http-growing",
        "http growing",
        "over HTTP at length 10,000 to 100: latency",
        dict.fromkeys(("append", "recent_messages_limit", "context_window_max"), _most(1.3)),
    ),
)
