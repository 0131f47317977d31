"""Compact on demand, choose the summarizer, and call handlers when a session was compacted or changed."""

from collections.abc import Callable
from typing import Unpack

from ledger.application.background.compactor import ManualCompaction
from ledger.application.handle import NamespaceHandle, check_guard
from ledger.errors import SessionNotFound
from ledger.events.strict_json import check_flag, check_integer
from ledger.llm.compaction.compaction_result import CompactionResult
from ledger.llm.summarizers import SummarizerChoice, chosen_summarizer
from ledger.results import Guard, Notification
from ledger.session.views import plan_manual
from projections.strategies.base import CompactionPlan


async def compress(
    handle: NamespaceHandle,
    session_id: str,
    *,
    key: str | None = None,
    force: bool = False,
    keep_tokens: int | None = None,
    model: str | None = None,
    wait_s: float | None = None,
    **guard: Unpack[Guard],
) -> CompactionResult:
    """Compact now: the compaction with *key*, or the first in the session's config.

    *force* compacts a single entry even if the config requires more. *keep_tokens* is how many tokens stay at the end
    of the window, for strategies that count tokens. *model* is asked in place of the configured one. After *wait_s*
    seconds the compaction continues in the background.

    Raises:
        SessionNotFound: the session has no events.
        CompactionUnderWay: it takes longer than *wait_s*.
        NotEnoughEntries, CompactionInProgress: nothing was started.
        CompactionNotCompleted: the summarizer returned nothing usable; every entry is still in the window.
    """
    request = _checked(key, force, keep_tokens, model)
    handle.rights.check_model(model)
    stream = await handle.existing(session_id, guard.get("user_id"))
    expected_version, idempotency_key = check_guard(guard)
    body = {"key": key, "force": force, "keep_tokens": keep_tokens, "model": model}
    return await handle.services.compactor.compress(
        stream,
        request,
        actor=handle.actor,
        wait_s=wait_s,
        expected_version=expected_version,
        idempotency=handle.idempotency(stream, "compress", body, idempotency_key),
    )


async def plan_compression(
    handle: NamespaceHandle,
    session_id: str,
    *,
    key: str | None = None,
    force: bool = False,
    keep_tokens: int | None = None,
    user_id: str | None = None,
) -> CompactionPlan:
    """Return what `compress` would do now; no model is asked and nothing is written.

    Raises:
        SessionNotFound: the session has no events.
        NotEnoughEntries, CompactionInProgress: there is nothing it could do.
    """
    request = _checked(key, force, keep_tokens, None)
    stream, states = handle.stream(session_id, user_id), handle.services.states
    state = await states.newest(stream)
    if not state.version:
        raise SessionNotFound(session_id)
    return await states.view(
        stream,
        state,
        lambda: plan_manual(state, request.key, force=request.force, keep_tokens=request.keep_tokens),
    )


def set_summarizer(
    handle: NamespaceHandle, session_id: str | None, summarizer: SummarizerChoice, *, user_id: str | None = None
) -> None:
    """Use *summarizer* for a session, or for all sessions that have none of their own.

    It is a function of the prompt, sync or async, a `Summarizer`, or None for the extractive one, even if the ledger
    has another one. It is not stored, so it lasts until the ledger is closed.
    """
    stream = None if session_id is None else handle.stream(session_id, user_id)
    chosen = None if summarizer is None else chosen_summarizer(summarizer)
    handle.services.compactor.set_summarizer(stream, chosen)


async def settle(handle: NamespaceHandle, session_id: str | None = None, *, user_id: str | None = None) -> None:
    """Wait until this process runs no compaction of the session, or of any session."""
    await handle.services.compactor.settle(None if session_id is None else handle.stream(session_id, user_id))


def _checked(key: str | None, force: bool, keep_tokens: int | None, model: str | None) -> ManualCompaction:
    check_flag(force, field="force")
    if keep_tokens is not None:
        check_integer(keep_tokens, field="keep_tokens", code="out_of_bounds", least=0)
    return ManualCompaction(key=key, force=force, keep_tokens=keep_tokens, model=model)


def on(handle: NamespaceHandle, event: Notification, handler: Callable[..., object]) -> Callable[[], None]:
    """Call *handler* after each *event* of this process.

    ``entry:added`` has the session id and the entry as arguments, ``compressed`` the session id and the result,
    ``compaction:failed`` the session id and the failure (``key``, ``reason``, ``detail``), ``session:cleared`` the
    session id. Exceptions of a handler are logged. Return a function that removes it.

    Raises:
        InvalidInput: there is no such event, or the handler is not callable.
    """
    return handle.services.notifications.add(handle.namespace, event, handler)
