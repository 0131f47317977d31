"""What comes before a write to a session: its opening, if nothing lives there, or its return after it expired."""

from ledger.application.handle import NamespaceHandle
from ledger.events import EntryAdded
from ledger.ids import Stream
from ledger.session.commands import Command, OpenSession, RestoreSession
from ledger.session.drafts import EntryDraft
from ledger.session.state import SessionState
from ledger.tokenizers import entry_event
from projections.config import MemoryConfig


def starts_life(handle: NamespaceHandle, state: SessionState) -> bool:
    """Tell whether what is written now is the first of another life."""
    if not state.opened:
        return True
    if (
        state.working.ttl_seconds is None or handle.services.reconstruct
    ):  # then an expired session comes back (http W-22)
        return False
    return state.has_expired(handle.services.clock.now())


def opening_commands(
    handle: NamespaceHandle, stream: Stream, state: SessionState, config: MemoryConfig | None = None
) -> list[Command]:
    """Return the command that begins the session's life, or resumes it, unless it lives."""
    if not starts_life(handle, state):
        return resuming_commands(handle, state)
    return [
        OpenSession(
            write_id=handle.services.clock.ulid(),
            namespace=stream.namespace,
            user_id=stream.user_id,
            session_id=stream.session_id,
            config=config or handle.services.config,
            anew=True,
        )
    ]


def resuming_commands(handle: NamespaceHandle, state: SessionState) -> list[Command]:
    """Return the command that resumes an expired session before it is written to; none for one that lives."""
    clock = handle.services.clock
    expired = state.working.ttl_seconds is not None and state.has_expired(clock.now())
    return [RestoreSession(clock.ulid())] if expired and not starts_life(handle, state) else []


def new_entry(handle: NamespaceHandle, draft: EntryDraft, write_id: str, state: SessionState) -> EntryAdded:
    """Return *draft* with an id and a token count, as an event."""
    config = handle.services.config if starts_life(handle, state) else state.config
    return entry_event(
        draft,
        write_id=write_id,
        entry_id=draft.entry_id or handle.services.clock.ulid(),
        tokenizer=config.tokenizer,
    )
