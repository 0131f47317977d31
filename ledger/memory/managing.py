"""Compacting, clearing, configuring, and being told of it."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any, Unpack

from ledger.compaction.compactor import Wish
from ledger.compaction.result import CompactionResult
from ledger.errors import InvalidInput
from ledger.events import SessionCleared
from ledger.ids import Stream
from ledger.memory.core import Core, check_guard, version_of
from ledger.results import Configured, Guard, Notification, Version
from ledger.search.knowledge import check_usable
from ledger.session.commands import ChangeConfig, ClearSession, Command
from ledger.session.state import SessionState
from ledger.session.views import plan_manual
from ledger.strict_json import check_flag, check_integer
from ledger.summarizers import SummarizerChoice, chosen_summarizer
from projections import config as memory_config
from projections.config import MemoryConfig
from projections.strategies.base import CompactionPlan


class Managing(Core):
    """What is done to a session beside adding to it."""

    async def compress(
        self,
        session_id: str,
        *,
        key: str | None = None,
        force: bool = False,
        keep_tokens: int | None = None,
        model: str | None = None,
        wait_s: float | None = None,
        **guard: Unpack[Guard],
    ) -> CompactionResult:
        """Compact now: the compaction with *key*, or the first of the session's config.

        *force* does with one entry where the config asks for more (R-000-5). *keep_tokens* says how much of the end
        stays, where the strategy keeps by tokens; *model* is asked in place of the configured one. After *wait_s*
        seconds it goes on in the background.

        Raises:
            SessionNotFound: the session has no events.
            CompactionUnderWay: it takes longer than *wait_s*.
            NotEnoughEntries, CompactionInProgress: nothing was started.
            CompactionFailed: the summarizer gave nothing usable; every entry is still in the window.
        """
        stream, wish = await self._wish(session_id, key, force, keep_tokens, model, guard.get("user_id"))
        expected_version, idempotency_key = check_guard(guard)
        body = {"key": key, "force": force, "keep_tokens": keep_tokens, "model": model}
        return await self._compactor.compress(
            stream,
            wish,
            wait_s=wait_s,
            expected_version=expected_version,
            idempotency=self._idempotency(stream, "compress", body, idempotency_key),
        )

    async def plan_compression(
        self,
        session_id: str,
        *,
        key: str | None = None,
        force: bool = False,
        keep_tokens: int | None = None,
        user_id: str | None = None,
    ) -> CompactionPlan:
        """Return what `compress` would do now; nothing is asked of a model, and nothing is written.

        Raises:
            SessionNotFound: the session has no events.
            NotEnoughEntries, CompactionInProgress: it would do nothing.
        """
        stream, wish = await self._wish(session_id, key, force, keep_tokens, None, user_id)
        state = await self._states.current(stream)
        return plan_manual(state, wish.key, force=wish.force, keep_tokens=wish.keep_tokens)

    async def _wish(
        self,
        session_id: str,
        key: str | None,
        force: bool,
        keep_tokens: int | None,
        model: str | None,
        user_id: str | None,
    ) -> tuple[Stream, Wish]:
        check_flag(force, field="force")
        if keep_tokens is not None:
            check_integer(keep_tokens, field="keep_tokens", code="out_of_bounds", least=0)
        stream = await self._existing(session_id, user_id)
        return stream, Wish(key=key, force=force, keep_tokens=keep_tokens, model=model)

    async def clear_session(
        self,
        session_id: str,
        *,
        end: bool = False,
        **guard: Unpack[Guard],
    ) -> Version:
        """Empty window and summaries and return the session's version; history and config stay.

        With *end* the life of the session ends; an entry added later begins a new one. An unknown or empty
        session is left as it is (R-000-14).
        """
        check_flag(end, field="end")

        async def commands_for(state: SessionState) -> Sequence[Command]:
            if self._begins(state) and state.opened and not end:
                return []  # it has expired, and nothing of it is shown
            return [*self._resuming(state), ClearSession(self._clock.ulid(), end)]

        written = await self._change(
            self._stream(session_id, guard.get("user_id")),
            commands_for,
            "clear_session",
            {"end": end},
            guard,
        )
        if not written.replayed and any(isinstance(event.payload, SessionCleared) for event in written.events):
            self._notify("session:cleared", session_id)
        return version_of(written)

    async def configure(
        self,
        session_id: str,
        config: Mapping[str, Any] | Sequence[Any] | MemoryConfig,
        **guard: Unpack[Guard],
    ) -> Configured:
        """Let the whole *config* be the session's from the next batch on; a session without events begins with it.

        Raises:
            InvalidInput: ``bad_config``, with the JSON path of the fault.
            VersionConflict: the session is not at *expected_version*.
        """
        wanted = check_usable(memory_config.load(config))
        stream = self._stream(session_id, guard.get("user_id"))

        async def commands_for(state: SessionState) -> Sequence[Command]:
            opening = self._opening(stream, state, wanted)
            return opening if self._begins(state) else [*opening, ChangeConfig(self._clock.ulid(), wanted)]

        body = {"config": memory_config.dump(wanted)}
        written = await self._change(stream, commands_for, "configure", body, guard)
        return Configured(version=written.version, config=wanted, replayed=written.replayed)

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
            opening = self._opening(stream, state, changed)
            return opening if self._begins(state) else [*opening, ChangeConfig(self._clock.ulid(), changed)]

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
