"""What becomes of a conversation that its SDK deletes: it ends, or stays. Source: adapters AD-9, AD-10."""

from typing import Final, Literal, TypeAlias

from ledger.adapters.opened_ledger import repeated
from ledger.errors import InvalidInput
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger

OnDelete: TypeAlias = Literal["end", "refuse"]

_clock: Final = SystemClock()


def check_on_delete(on_delete: OnDelete) -> OnDelete:
    """Return *on_delete*.

    Raises:
        InvalidInput: it is unknown.
    """
    if on_delete not in {"end", "refuse"}:
        raise InvalidInput("bad_value", "must be end or refuse", field="on_delete")
    return on_delete


def check_deletes(on_delete: OnDelete, what: str, *, field: str) -> None:
    """Raise `InvalidInput` if the adapter, which is *what*, was opened to refuse deletions."""
    if on_delete == "refuse":
        raise InvalidInput("not_permitted", f"must stay: {what} was opened with on_delete='refuse'", field=field)


async def end_session(ledger: MemoryLedger, session_id: str, *, user_id: str | None = None) -> None:
    """End the life of a session once, though an answer be lost: another program may have begun the next one."""
    key = _clock.ulid()
    ending = repeated(lambda own: own.clear_session(session_id, end=True, user_id=user_id, idempotency_key=key))
    await ending(ledger)
