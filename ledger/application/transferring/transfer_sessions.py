"""Export and import sessions: states as JSON, histories as files."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from functools import partial
from typing import Any

from msgspec.structs import replace

from ledger.application.commands.write_requests import Decision
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import get_history, get_state
from ledger.application.session_start import new_entry, opening_commands, starts_life
from ledger.errors import InvalidInput
from ledger.events import Event, JsonObject, OpaqueEvent, SummaryViewCreated
from ledger.events.ids import Stream
from ledger.formats.export.exporting import export_lines
from ledger.formats.export.importing import FileImport, Imported, Lines
from ledger.formats.importers import Conversation, TranscriptFile
from ledger.formats.state_json.state_export import export_state
from ledger.formats.state_json.state_import import check_shape, import_state
from ledger.formats.transcripts.transcript_import import TranscriptImport
from ledger.long_term_memory.summary_views.definitions import check_definition
from ledger.results import ImportedState
from ledger.session.state import SessionState
from ledger.session.views import stats_of


async def export_session(handle: NamespaceHandle, session_id: str, *, user_id: str | None = None) -> JsonObject:
    """Return the session's state as JSON: ``sessionId``, ``entries``, ``summaries``, ``totalTokens``.

    It leaves out kept values (such as the bytes of images, to which entries refer), the session's data, memories and
    config, removed entries, and earlier texts; `export_file` has them all.

    Raises:
        SessionNotFound: the session has no events.
    """
    state = await get_state(handle, session_id, user_id=user_id)
    history = await get_history(handle, session_id, version=state.version, user_id=user_id)
    return export_state(session_id, state, history)


async def import_session(
    handle: NamespaceHandle,
    session_id: str | Mapping[str, Any],
    state: Mapping[str, Any] | None = None,
    *,
    user_id: str | None = None,
) -> ImportedState:
    """Replace the session's state by an exported one; an equal state changes nothing.

    Given only the state, its ``sessionId`` is used. An import starts no compaction.

    Raises:
        InvalidInput: a field is unknown or wrong, or an id is missing or occurs twice.
    """
    name: Any = session_id
    if isinstance(session_id, Mapping):
        state, name = session_id, session_id.get("sessionId")
    if state is None or name is None:
        raise InvalidInput("missing_field", "must have a sessionId, or give session_id and state", field="state")
    check_shape(state)
    stream = handle.stream(name, user_id)
    current = await handle.services.states.current(stream)
    if current.version and _same(await export_session(handle, name, user_id=user_id), state):
        return await _imported(handle, stream, current, state.get("totalTokens"))

    async def decision_for(newest: SessionState) -> Decision[int | None]:
        write_id = handle.services.clock.ulid()
        tokenizer = (handle.services.config if starts_life(handle, newest) else newest.config).tokenizer
        command, claimed = import_state(
            state,
            write_id=write_id,
            added=lambda draft: replace(new_entry(handle, draft, write_id, tokenizer), past=True),
            new_id=handle.services.clock.ulid,
        )
        return Decision([*opening_commands(handle, stream, newest), command], claimed)

    written, claimed = await handle.services.commands.write_with_note(stream, decision_for, actor=handle.actor)
    return await _imported(handle, stream, written.state, claimed)


async def import_conversations(
    handle: NamespaceHandle,
    conversations: Sequence[Conversation] | TranscriptFile,
    *,
    user_id: str | None = None,
    again: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> Imported:
    """Record conversations read by `ledger.formats.importers`, all in one transaction, and each entry once.

    A `TranscriptFile` is read from its file while it is recorded, so a file of any size needs little memory. *progress*
    gets (conversations recorded, all conversations).

    With *again*, a session that was imported by a version that read the file otherwise is cleared, and its entries are
    added as this version reads them; the history keeps the old reading. `Imported.reread` names these sessions.

    Raises:
        ImportRefused: the transcript has a line that cannot be read.
        SessionExists: a session of that name starts with other entries; or one that is read otherwise now was not
            imported, or somebody wrote to it since.
    """
    handle.services.check_open()
    services = handle.services
    importing = TranscriptImport(
        services.store, services.states, services.clock, namespace=handle.namespace, actor=handle.actor
    )
    return await importing.record(
        conversations, config=services.config, user_id=user_id, again=again, progress=progress
    )


async def import_file(
    handle: NamespaceHandle, lines: Lines, *, session_id: str | None = None, user_id: str | None = None
) -> Imported:
    """Copy sessions from an export file; every line is verified before anything is written.

    The actor of what starts a session is the importer; the actors that the file names are shown as claimed.

    Raises:
        ImportRefused: the file was changed.
        SessionExists: a session of that name has other events.
        InvalidInput: one name was given for several sessions.
        NotPermitted: the file holds what the caller of a service may not write.
    """
    handle.services.check_open()
    importing = FileImport(
        handle.services.store,
        handle.services.clock,
        namespace=handle.namespace,
        actor=handle.actor,
        check_event=partial(_check_event, handle),
    )
    return await importing.export(lines, session_id=session_id, user_id=user_id)


async def export_file(
    handle: NamespaceHandle, session_id: str | None = None, *, user_id: str | None = None
) -> AsyncIterator[bytes]:
    """Yield a session, or the whole namespace, as the lines of an export file.

    Raises:
        SessionNotFound: there are no events to export.
    """
    handle.services.check_open()
    stream = None if session_id is None else await handle.existing(session_id, user_id)
    async for line in export_lines(handle.services.store, handle.namespace, stream):
        yield line


def _check_event(handle: NamespaceHandle, event: Event | OpaqueEvent) -> None:
    handle.rights.check_event(event, known=handle.services.config)
    if isinstance(event, SummaryViewCreated):
        check_definition(event.definition)


def _same(exported: JsonObject, state: Mapping[str, Any]) -> bool:
    """Tell whether *state* equals what was *exported*, except for its name and total."""
    ignored = {"sessionId": None, "totalTokens": None}
    return {**exported, **ignored} == {**state, **ignored}


async def _imported(handle: NamespaceHandle, stream: Stream, state: SessionState, claimed: int | None) -> ImportedState:
    stats = await handle.services.states.view(stream, state, lambda: stats_of(state))
    total = stats.total_tokens
    return ImportedState(
        session_id=stream.session_id,
        version=state.version,
        total_tokens=total,
        claimed_tokens=claimed if claimed != total else None,
    )
