"""How old an answer is that a server without writes gives from an index as it is."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from ledger.ports.projection_store import Checkpoint

_notices: ContextVar[list[str] | None] = ContextVar("told", default=None)


class StaleAnswer(UserWarning):
    """A list or search was answered from an index that lacks the newest events; the text says how many."""


def tell_stale(index: str, found: Checkpoint | None, *, last: int) -> None:
    """Say that *index* is older than the *last* position: to who collects it, otherwise as a warning."""
    if found is None:
        age = f"was never built, so none of {last} events is in it"
    else:
        age = f"is as of position {found.position} of {last} ({found.updated_at:%Y-%m-%dT%H:%M:%SZ})"
    text = f"the index {index} {age}: this server takes no writes, and the one that does brings it up to date"
    notices = _notices.get()
    if notices is None:
        warnings.warn(StaleAnswer(text), stacklevel=2)
    elif text not in notices:
        notices.append(text)


@contextmanager
def collected() -> Iterator[list[str]]:
    """Yield the list that gets what is told within the context, instead of warnings."""
    notices: list[str] = []
    before = _notices.set(notices)
    try:
        yield notices
    finally:
        _notices.reset(before)
