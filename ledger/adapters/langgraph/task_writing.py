"""Writing what a task wrote: one write for each call, with its messages. Source: adapters LG-6."""

from collections.abc import Sequence
from typing import Any

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import WRITES_IDX_MAP
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ledger.adapters.langgraph.blobs import blob_values
from ledger.adapters.langgraph.checkpoint_reads import Reads
from ledger.adapters.langgraph.entry_messages import put_messages
from ledger.adapters.langgraph.keys import MESSAGES, WRITES, names_in, session_of, writes_key
from ledger.adapters.langgraph.known_threads import KnownThreads
from ledger.adapters.langgraph.state_window import all_entries, to_show
from ledger.adapters.langgraph.stored_checkpoints import Stored
from ledger.adapters.langgraph.task_writes import TaskWrites
from ledger.adapters.langgraph.thread_writes import turn, write_once
from ledger.application.commands.session_turns import SessionTurns
from ledger.errors import VersionConflict
from ledger.memory import MemoryLedger
from ledger.results import Guard


class TaskWriting:
    """The part of a saver that stores what tasks write; each method takes the ledger first."""

    def __init__(self, reads: Reads, threads: KnownThreads, turns: SessionTurns) -> None:
        self._serde = reads.serde
        self._reads = reads
        self._threads = threads
        self._turns = turns
        self._is_open = not isinstance(reads.serde, EncryptedSerializer)

    async def put_writes(
        self,
        ledger: MemoryLedger,
        config: RunnableConfig,
        writes: Sequence[tuple[str, Any]],
        task_id: str,
        task_path: str,
    ) -> None:
        """Store what a task wrote."""
        thread_id, namespace = names_in(config)
        checkpoint_id = config["configurable"]["checkpoint_id"]
        stored = Stored(self._serde, self._reads.known_blobs, splits_messages=self._is_open)
        written = [
            [WRITES_IDX_MAP.get(channel, at), channel, stored.reference(value)]
            for at, (channel, value) in enumerate(writes)
        ]
        value = {"task": task_id, "path": task_path, "writes": written}
        session = session_of(thread_id)
        # before anything waits: a graph that goes on may change the lists that its tasks wrote
        messages = _messages(writes, written, stored) if self._is_open and not namespace else []
        async with turn(self._turns, session, together=True):
            known, version = self._threads.blobs(session)
            new = {digest: typed for digest, typed in stored.blobs.items() if digest not in known}
            named = self._named_messages(session, checkpoint_id, messages)
            entries = all_entries(named)
            own = {"space": WRITES, "key": writes_key(namespace, checkpoint_id, task_id), "value": value}
            leaves_out = len(new) < len(stored.blobs)  # so nobody may have ended their life
            guard: Guard = {"expected_version": version} if leaves_out else {}
            done = None
            try:
                kept = [*blob_values(new, besides=put_messages(entries, stored.find)), own]
                done = await write_once(ledger, session, kept, entries=entries, **guard)
            except VersionConflict:
                entries = []
                done = await write_once(ledger, session, [*blob_values(stored.blobs), own])
            finally:
                if done is None:  # they may be stored, at a version that nobody knows
                    self._threads.doubt(session, checkpoint_id)
            if done is not None:
                self._threads.add(session, stored.blobs, done.first_version, done.version)
                if entries:
                    self._threads.show(session, checkpoint_id, [name for _, name in named])
                self._threads.add_writes(session, namespace, checkpoint_id, TaskWrites(done.version, value))
        self._reads.known_blobs.add_all(new)

    def _named_messages(
        self,
        session: str,
        checkpoint_id: str,
        messages: Sequence[tuple[BaseMessage, str]],
    ) -> list[tuple[BaseMessage, str]]:
        """Return those of *messages* that the window lacks, which a task wrote after the newest root checkpoint.

        That one may still be on its way: a graph goes on while it is stored.
        """
        head, _ = self._threads.head(session, "")
        if head is None or head.shown is None or head.checkpoint_id > checkpoint_id:
            return []
        if head.waits:  # what a task says comes after what the graph was called with
            return []
        shown = set(head.shown)
        return [pair for pair in messages if pair[1] not in shown]


def _messages(
    writes: Sequence[tuple[str, Any]], written: Sequence[Sequence[Any]], stored: Stored
) -> list[tuple[BaseMessage, str]]:
    """Return the messages that a task wrote, with the names of their blobs."""
    return [
        pair
        for (_, value), (_, channel, reference) in zip(writes, written, strict=True)
        if channel == MESSAGES
        for pair in to_show(value, stored.digests.get(id(reference), []))
    ]
