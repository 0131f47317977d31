"""Compacting, clearing, configuring, and being told of it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from ledger.commands import ChangeConfig, ClearSession, Command
from ledger.compactor import CompactionResult
from ledger.errors import InvalidInput
from ledger.events import SessionCleared
from ledger.knowledge import check_usable
from ledger.memory.core import Core
from ledger.results import Notification
from ledger.state import SessionState
from ledger.strict_json import check_flag
from ledger.summarizers import SummarizerChoice, chosen_summarizer
from projections import config as memory_config
from projections.config import MemoryConfig


class Managing(Core):
    """What is done to a session beside adding to it."""

    async def compress(
        self, session_id: str, *, key: str | None = None, force: bool = False, user_id: str | None = None
    ) -> CompactionResult:
        """Compact now: the compaction with *key*, or the first of the session's config.

        *force* does with one entry where the config asks for more (R-000-5).

        Raises:
            SessionNotFound: the session has no events.
            NotEnoughEntries, CompactionInProgress: nothing was started.
            CompactionFailed: the summarizer gave nothing usable; every entry is still in the window.
        """
        check_flag(force, field="force")
        stream = await self._existing(session_id, user_id)
        return await self._compactor.compress(stream, key=key, force=force)

    async def clear_session(self, session_id: str, *, end: bool = False, user_id: str | None = None) -> int:
        """Empty window and summaries and return the session's version; history and config stay.

        With *end* the life of the session ends; an entry added later begins a new one. An unknown or empty
        session is left as it is (R-000-14).
        """
        check_flag(end, field="end")
        stream = self._stream(session_id, user_id)
        written = await self._command(stream, lambda write_id: ClearSession(write_id, end))
        if any(isinstance(event.payload, SessionCleared) for event in written.events):
            self._notify("session:cleared", session_id)
        return written.state.version

    async def update_config(
        self, session_id: str, changes: Mapping[str, Any], *, user_id: str | None = None
    ) -> MemoryConfig:
        """Merge *changes* into the session's memory config and return it; it acts from the next batch on (R-CFG-9).

        Raises:
            InvalidInput: ``bad_config``, with the JSON path of the fault.
        """
        stream = self._stream(session_id, user_id)

        async def commands_for(state: SessionState) -> Sequence[Command]:
            changed = memory_config.update(state.config if state.opened else self._config, changes)
            check_usable(changed)
            return self._opening(stream, state, changed) or [ChangeConfig(self._clock.ulid(), changed)]

        return (await self._writer.write(stream, commands_for)).state.config

    def set_summarizer(
        self, session_id: str | None, summarizer: SummarizerChoice, *, user_id: str | None = None
    ) -> None:
        """Let *summarizer* write the summaries of a session, or of all that have none of their own.

        It is a function of the prompt, sync or async, a `Summarizer`, or none for the heuristic. It lasts as
        long as this ledger is open; functions cannot be stored.
        """
        stream = None if session_id is None else self._stream(session_id, user_id)
        chosen = None if summarizer is None else chosen_summarizer(summarizer)
        self._compactor.set_summarizer(stream, chosen)

    async def settle(self, session_id: str | None = None, *, user_id: str | None = None) -> None:
        """Wait until no compaction of the session, or of any, is under way in this process."""
        await self._compactor.settle(None if session_id is None else self._stream(session_id, user_id))

    def on(self, event: Notification, handler: Callable[..., object]) -> Callable[[], None]:
        """Call *handler* after each ``entry:added``, ``compressed`` or ``session:cleared`` of this process.

        It gets the session id and the entry, the result, or nothing more. What it raises is logged. Return a
        function that ends it.
        """
        if event not in {"entry:added", "compressed", "session:cleared"}:
            raise InvalidInput("unknown_notification", "entry:added, compressed or session:cleared", field="event")
        if not callable(handler):
            raise InvalidInput("wrong_type", "is a function", field="handler")
        handlers = self._handlers.setdefault(event, [])
        own = partial(handler)  # equal to no other, also if the same handler is given twice
        handlers.append(own)

        def end() -> None:
            with suppress(ValueError):
                handlers.remove(own)

        return end
