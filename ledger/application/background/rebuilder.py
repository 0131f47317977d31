"""Rebuilds in the background: replay the history under the new config, ask models, and switch in one write.

Until the switch nothing is different, so a process that ends loses nothing: whoever goes on replays the history again,
and finds the texts that models wrote before in the log. Source: R-RBD-2 … R-RBD-5.
"""

import asyncio
import logging
from collections.abc import Callable
from datetime import timedelta

from ledger.application.background.rebuild_run import Ended, Paused, RebuildRun
from ledger.application.commands.command_handler import CommandHandler
from ledger.errors import LedgerError
from ledger.events import RebuildFailed, to_datetime
from ledger.events.ids import Stream
from ledger.llm.summarizers.model_answers import ModelCalls
from ledger.ports import Clock, Store, Summarizer
from ledger.replay.what_if.recorded_answers import SummaryCache
from ledger.session.rebuild_commands import FailRebuild
from ledger.session.rebuild_decisions import running
from ledger.session.state import SessionState
from projections.rebuilds import Rebuild

log = logging.getLogger("ledger")


class Rebuilder:
    """Carries out rebuilds that were requested; the events name the *actor* that asked for them.

    *tried* are texts that models wrote in what-ifs of this process; they are recorded when a rebuild uses them.
    """

    def __init__(
        self,
        store: Store,
        commands: CommandHandler,
        clock: Clock,
        *,
        lease_s: float,
        models: ModelCalls,
        summarizer_of: Callable[[Stream], Summarizer],
        tried: SummaryCache,
    ) -> None:
        self._store = store
        self._commands = commands
        self._clock = clock
        self._lease = timedelta(seconds=lease_s)
        self._models = models
        self._summarizer_of = summarizer_of
        self._tried = tried
        #: After how many calls of models a run pauses; a worker goes on. None is all. See `Compactor.most_in_a_row`.
        self.most_in_a_row: int | None = None
        self._tasks: dict[str, tuple[Stream, asyncio.Task[None]]] = {}

    def start(self, stream: Stream, rebuild: Rebuild, *, actor: str) -> None:
        """Carry out *rebuild* in the background, unless this process does."""
        if rebuild.rebuild_id in self._tasks:
            return
        task = asyncio.create_task(self._run(stream, rebuild, actor))
        self._tasks[rebuild.rebuild_id] = (stream, task)
        task.add_done_callback(lambda _: self._tasks.pop(rebuild.rebuild_id, None))

    def resume(self, stream: Stream, state: SessionState, *, actor: str, claimed: bool = False) -> None:
        """Go on with a rebuild of the session that no process has carried further for as long as its lease.

        A paused one goes on at once if the caller has *claimed* it, so that no other process does.
        """
        found = running(state)
        if found is None:
            return
        is_left = to_datetime(found.touched_us) < self._clock.now() - self._lease
        if is_left or (claimed and found.paused):
            self.start(stream, found, actor=actor)

    def tasks(self, stream: Stream | None = None) -> list[asyncio.Task[None]]:
        """Return the running tasks of *stream*, or of all sessions."""
        return [task for own, task in self._tasks.values() if stream is None or own.stream_id == stream.stream_id]

    async def _run(self, stream: Stream, rebuild: Rebuild, actor: str) -> None:
        run = RebuildRun(
            self._store,
            self._commands,
            self._clock,
            self._models,
            self._tried,
            stream,
            rebuild,
            actor,
            most=self.most_in_a_row,
        )
        try:
            await run.execute(self._summarizer_of(stream))
        except Paused:
            log.info("a rebuild waits for a worker, after %s calls of models in a row", self.most_in_a_row)
        except Ended as ended:
            failed = RebuildFailed(
                write_id=self._clock.ulid(), rebuild_id=rebuild.rebuild_id, reason="error", detail=str(ended)[:500]
            )
            log.warning("a rebuild failed: %s", ended)
            await run.write(FailRebuild(failed))
        except LedgerError as fault:  # it goes on after its lease
            log.warning("a rebuild was interrupted: %s", fault.code)
