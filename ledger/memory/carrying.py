"""Taking sessions along: states as JSON, histories as files."""

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import Any

from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.importers import Conversation
from ledger.memory.reading import Reading
from ledger.results import ImportedState
from ledger.session.commands import Command
from ledger.session.state import SessionState
from ledger.session.views import stats_of
from ledger.transfer import session_state
from ledger.transfer.exporting import export_lines
from ledger.transfer.importing import Imported, Lines


class Carrying(Reading):
    """Export and import."""

    async def export_session(self, session_id: str, *, user_id: str | None = None) -> JsonObject:
        """Return the session's state as JSON in the shape of seed 000 (R-000-15).

        Raises:
            SessionNotFound: the session has no events.
        """
        state = await self.get_state(session_id, user_id=user_id)
        history = await self.get_history(session_id, version=state.version, user_id=user_id)
        return session_state.export_state(session_id, state, history)

    async def import_session(
        self,
        session_id: str | Mapping[str, Any],
        state: Mapping[str, Any] | None = None,
        *,
        user_id: str | None = None,
    ) -> ImportedState:
        """Put an exported state in place of the session's; an equal one changes nothing (R-000-15).

        The state's own name is used if only it is given. Nothing is compacted by it.

        Raises:
            InvalidInput: a field is unknown or wrong, or an id dangles or occurs twice.
        """
        name: Any = session_id
        if isinstance(session_id, Mapping):
            state, name = session_id, session_id.get("sessionId")
        if state is None or name is None:
            raise InvalidInput("missing_field", "give a session id and a state, or a state with its own", field="state")
        session_state.check_shape(state)
        stream = self._stream(name, user_id)
        current = await self._states.current(stream)
        if current.version and _same(await self.export_session(name, user_id=user_id), state):
            return _imported(name, current, state.get("totalTokens"))
        claimed: list[int | None] = []

        async def commands_for(now: SessionState) -> Sequence[Command]:
            write_id = self._clock.ulid()
            command, total = session_state.import_state(
                state,
                write_id=write_id,
                added=lambda draft: self._event(draft, write_id, now),
                new_id=self._clock.ulid,
            )
            claimed[:] = [total]
            return [*self._opening(stream, now), command]

        written = await self._writer.write(stream, commands_for)
        return _imported(name, written.state, claimed[0])

    async def import_conversations(
        self,
        conversations: Sequence[Conversation],
        *,
        user_id: str | None = None,
        progress: Callable[[int, int], None] = lambda done, total: None,
    ) -> Imported:
        """Record conversations read by `ledger.importers`, all in one transaction; nothing is recorded twice.

        *progress* gets (conversations prepared, all of them).
        """
        self._check_open()
        return await self._imports.conversations(conversations, config=self._config, user_id=user_id, progress=progress)

    async def import_file(self, lines: Lines, *, session_id: str | None = None, user_id: str | None = None) -> Imported:
        """Copy sessions from one of our own files, proved line by line before anything is written (trust E-12)."""
        self._check_open()
        return await self._imports.export(lines, session_id=session_id, user_id=user_id)

    async def export_file(self, session_id: str | None = None, *, user_id: str | None = None) -> AsyncIterator[bytes]:
        """Yield a session, or the whole namespace, as the lines of one of our own files (trust E-12).

        Raises:
            SessionNotFound: there are no events to export.
        """
        self._check_open()
        stream = None if session_id is None else await self._existing(session_id, user_id)
        async for line in export_lines(self._store, self._namespace, stream):
            yield line


def _same(exported: JsonObject, state: Mapping[str, Any]) -> bool:
    """Tell whether *state* holds what was *exported*, whatever its name and its total."""
    apart = {"sessionId": None, "totalTokens": None}
    return {**exported, **apart} == {**state, **apart}


def _imported(session_id: str, state: SessionState, claimed: int | None) -> ImportedState:
    total = stats_of(state).total_tokens
    return ImportedState(
        session_id=session_id,
        version=state.version,
        total_tokens=total,
        claimed_tokens=claimed if claimed != total else None,
    )
