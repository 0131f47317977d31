"""Logs as JSON lines, without content.

Only the messages of the ledger's own loggers are written. Of other loggers' records and of exceptions, whose text
may hold what a client sent, only the place is written. Source: trust P-16, N-13.
"""

import logging
import sys
import traceback
from datetime import UTC, datetime
from typing import Any, Final, TextIO

import msgspec

from ledger.errors import LedgerError

OURS: Final = "ledger"


class JsonLines(logging.Formatter):
    """One JSON object for each record."""

    def format(self, record: logging.LogRecord) -> str:
        """Return *record* as a line."""
        ours = record.name == OURS or record.name.startswith(f"{OURS}.")
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "event": _message(record) if ours else f"{record.module}:{record.lineno}",
        }
        fields = getattr(record, "fields", None)
        if ours and isinstance(fields, dict):
            line.update({name: value for name, value in fields.items() if value is not None})
        if record.exc_info and record.exc_info[0] is not None:
            line["error"] = record.exc_info[0].__name__
            frames = traceback.extract_tb(record.exc_info[2])
            line["at"] = [f"{frame.name}:{frame.lineno}" for frame in frames[-10:]]
        return msgspec.json.encode(line).decode()


def _message(record: logging.LogRecord) -> str:
    """Return the message, with only the code of each error among its values."""
    values = record.args
    if isinstance(values, tuple) and values:
        return str(record.msg) % tuple(_code(value) if isinstance(value, BaseException) else value for value in values)
    return record.getMessage()


def _code(fault: BaseException) -> str:
    return fault.code if isinstance(fault, LedgerError) else type(fault).__name__


def configure(level: str, stream: TextIO | None = None) -> logging.Handler:
    """Write all logs of this process to *stream*, by default standard error, as JSON lines; return the handler."""
    handler = logging.StreamHandler(stream or sys.stderr)
    handler.setFormatter(JsonLines())
    root = logging.getLogger()
    root.handlers[:] = [handler]
    root.setLevel(level)
    # a line shows none of these, and asking for them takes as long as writing it
    logging.logThreads = logging.logProcesses = logging.logMultiprocessing = False
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # start and stop are announced elsewhere
    logging.getLogger("mcp").setLevel(logging.WARNING)  # it writes two lines for each request
    return handler
