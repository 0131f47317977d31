"""The table from the database's errors to ours (trust R-7)."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

import psycopg
from sqlalchemy import exc

from ledger.errors import (
    DatabaseRefused,
    DatabaseUnavailable,
    InvalidInput,
    LedgerError,
    LogCorrupted,
    MigrationNeeded,
    NotAllowed,
    ReadOnlyDatabase,
    StorageFull,
    UnsafeDatabase,
)
from ledger.stores.postgres.connecting import FULL, is_full, reason, refusal
from ledger.stores.postgres.deadlines import AnswerLate, NoConnection

#: A statement of ours that the server does not know how to run, as a distributed PostgreSQL may not: sent again, it
#: would be refused again.
_UNSUPPORTED: Final = frozenset({"0A000", "42702"})

#: The tables that only `append` writes.
_LOG: Final = frozenset({"namespaces", "streams", "events", "append_requests"})

READ_ONLY: Final = (
    "the database is read-only: a standby, a primary that was demoted, or `default_transaction_read_only`; nothing was "
    "written; use the URL of the server that takes writes"
)
_BUSY: Final = "all connections to the database are busy; try again"
_WHAT_IS_STORED: Final = "try again, a write with the idempotency key that it had, or read what is stored"


@contextmanager
def translated() -> Iterator[None]:
    """Turn errors of the driver and of SQLAlchemy into ours, by SQLSTATE and without values (trust R-7)."""
    try:
        yield
    except exc.DBAPIError as fault:
        raise ledger_error(fault.orig) from fault
    except psycopg.Error as fault:
        raise ledger_error(fault) from fault
    except (exc.TimeoutError, OSError) as fault:
        raise ledger_error(fault) from fault


def ledger_error(fault: BaseException | None) -> LedgerError:
    """Return our error for *fault*."""
    return _in_vain(fault) or _by_state(fault)


def _in_vain(fault: BaseException | None) -> LedgerError | None:
    if isinstance(fault, AnswerLate):
        return DatabaseUnavailable(f"{fault}; a write may have been stored all the same; {_WHAT_IS_STORED}")
    if isinstance(fault, NoConnection):
        return DatabaseUnavailable(f"{fault}; try again")
    if isinstance(fault, exc.TimeoutError | TimeoutError):
        return DatabaseUnavailable(_BUSY)
    if is_full(fault):
        return DatabaseUnavailable(FULL)
    return None


def _by_state(fault: BaseException | None) -> LedgerError:
    state = getattr(fault, "sqlstate", None) or ""
    if _is_stale_plan(fault):
        return DatabaseUnavailable("the database was upgraded while this process ran; restart the process")
    match state:
        case "LG000":
            return LogCorrupted("something tried to change the log, which is append-only")
        case "23505" if _is_of_the_log(fault):
            return LogCorrupted("the log already holds what comes next; run `memory-ledger verify`")
        case "42501":
            return NotAllowed("the database login lacks a privilege; run `memory-ledger doctor` to see which")
        case "25006":
            return ReadOnlyDatabase(READ_ONLY)
        case "3F000" | "42P01" | "42883":
            return MigrationNeeded("the database has no ledger schema, or an old one; run `memory-ledger db upgrade`")
        case "53100":
            return StorageFull("the database has no space left and nothing was written; free space and try again")
        case "22003" | "22021" | "22P02" | "22P05" | "23514" | "54000":
            return InvalidInput("refused_by_database", "the database cannot hold a value of this request")
        case _ if state in _UNSUPPORTED:
            return UnsafeDatabase(
                f"this server is not supported: it refuses a statement ({state}); use PostgreSQL 15 to 18"
            )
        case "" if isinstance(fault, psycopg.ProgrammingError):  # the driver's own, before anything was sent
            message = "must be a PostgreSQL URL such as postgresql://user:password@host/database"
            return InvalidInput("bad_database_url", message, field="database_url")
        case "" if isinstance(fault, psycopg.OperationalError) and (refused := refusal(fault)):
            return DatabaseRefused(refused)
        case _:
            return DatabaseUnavailable(f"the database does not answer ({state or reason(fault)}); try again")


def _is_of_the_log(fault: BaseException | None) -> bool:
    """Return whether *fault* is about a table that only `append` writes, which numbers what it writes."""
    return isinstance(fault, psycopg.Error) and fault.diag.table_name in _LOG


def _is_stale_plan(fault: BaseException | None) -> bool:
    """Return whether a migration changed what a prepared statement returns; its state is that of a missing feature."""
    return isinstance(fault, psycopg.Error) and fault.diag.source_function == "RevalidateCachedQuery"


def outcome_unknown(fault: psycopg.Error) -> bool:
    """Return whether the connection broke after something was sent, which may have been committed.

    Not if the answer was late: the server may carry it out after whatever is sent again.
    """
    if isinstance(fault, AnswerLate):
        return False
    return isinstance(fault, psycopg.OperationalError) and (fault.sqlstate or "08").startswith(("08", "57P"))


def is_passing(fault: psycopg.Error) -> bool:
    """Return whether the server is only busy for now: full or locked (trust R-7)."""
    return fault.sqlstate in {"53300", "55P03"}


def is_read_only(fault: psycopg.Error) -> bool:
    """Return whether the server takes no writes (trust R-7)."""
    return fault.sqlstate == "25006"


def is_unsupported(fault: psycopg.Error) -> bool:
    """Return whether the server cannot run our statement, now or later (trust R-7)."""
    return fault.sqlstate in _UNSUPPORTED and not _is_stale_plan(fault)


def is_contention(fault: psycopg.Error) -> bool:
    """Return whether to try again at once: a deadlock, a serialisation failure (trust R-7), a dropped statement."""
    return fault.sqlstate in {"40001", "40P01", "26000"}
