"""The commands before a write to a session: open it if it is not live, or resume it after it expired."""

from ledger.application.handle import NamespaceHandle
from ledger.errors import InvalidInput
from ledger.events import EntryAdded, SessionOpened
from ledger.events.ids import Stream
from ledger.llm.tokenizers import entry_event
from ledger.session.commands import Command, OpenSession, RestoreSession
from ledger.session.entry_drafts import EntryDraft
from ledger.session.state import SessionState
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig


def starts_life(handle: NamespaceHandle, state: SessionState) -> bool:
    """Tell whether the next write starts a new life of the session."""
    if not state.opened:
        return True
    if state.working.ttl_seconds is None or handle.services.reconstruct:  # a session that expired resumes (http W-22)
        return False
    return state.has_expired(handle.services.clock.now())


def opening_commands(
    handle: NamespaceHandle, stream: Stream, state: SessionState, config: MemoryConfig | None = None
) -> list[Command]:
    """Return the command that starts or resumes the session's life; none if it is live."""
    if not starts_life(handle, state):
        return [] if state.working.ttl_seconds is None else resuming_commands(handle, state)
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


def session_opened(stream: Stream, config: MemoryConfig, write_id: str) -> SessionOpened:
    """Return the event that starts a life of the session of *stream*."""
    return SessionOpened(
        write_id=write_id,
        namespace=stream.namespace,
        user_id=stream.user_id,
        session_id=stream.session_id,
        config=memory_config.dump(config),
    )


def resuming_commands(handle: NamespaceHandle, state: SessionState) -> list[Command]:
    """Return the command that resumes an expired session before a write; none if it is live."""
    clock = handle.services.clock
    expired = state.working.ttl_seconds is not None and state.has_expired(clock.now())
    return [RestoreSession(clock.ulid())] if expired and not starts_life(handle, state) else []


def live_commands(handle: NamespaceHandle, state: SessionState) -> list[Command]:
    """Return the command that resumes an expired session before a change that starts no life; none if it is live.

    Raises:
        InvalidInput: ``session_ended``: it has ended or expired, and is not resumed.
    """
    if starts_life(handle, state):
        raise InvalidInput(
            "session_ended",
            "names a session that has ended or expired; add an entry to start it again, or restore a version of it",
            field="session_id",
        )
    return resuming_commands(handle, state)


def new_entry(handle: NamespaceHandle, draft: EntryDraft, write_id: str, tokenizer: str) -> EntryAdded:
    """Return *draft* with an id and a token count, as an event."""
    entry_id = draft.entry_id or handle.services.clock.ulid()
    return entry_event(draft, write_id=write_id, entry_id=entry_id, tokenizer=tokenizer)
