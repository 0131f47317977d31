"""A checkpointer of LangGraph that keeps threads as sessions of the ledger. Source: adapters LG-1 … LG-11."""

import random
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any, Self

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    DeltaChannelHistory,
)

from ledger.adapters.langgraph.checkpoint_reads import Reads
from ledger.adapters.langgraph.checkpoint_removal import Removals
from ledger.adapters.langgraph.checkpoint_writes import Writes
from ledger.adapters.langgraph.deltas import delta_history
from ledger.adapters.langgraph.known_blobs import KnownBlobs
from ledger.adapters.langgraph.known_threads import KnownThreads
from ledger.adapters.langgraph.memory_cache import MemoryCache
from ledger.adapters.langgraph.registered_types import RegisteredType, registered_only
from ledger.adapters.langgraph.task_writing import TaskWriting
from ledger.adapters.opened_ledger import OpenedInBlocks, OpenedLedger, repeated
from ledger.adapters.sdk_sessions import OnDelete, check_deletes, check_on_delete
from ledger.application.commands.session_turns import SessionTurns
from ledger.memory import MemoryLedger
from ledger.settings import Secret

_PAGE = 100
_WHAT = "the saver"


class LedgerSaver(OpenedInBlocks, BaseCheckpointSaver[str]):
    """Checkpoints of LangGraph in the ledger: each thread is a session, with its messages as entries.

        async with LedgerSaver.open() as saver:
            graph = builder.compile(checkpointer=saver)

    Methods without ``a`` are for graphs that are not asynchronous. A saver that `open` returned works from any event
    loop and thread; one of a `MemoryLedger` of yours only on that ledger's loop, without the methods that are not
    asynchronous.
    """

    def __init__(
        self,
        ledger: MemoryLedger | OpenedLedger,
        *,
        serde: Any = None,
        allowed_types: Sequence[RegisteredType] = (),
        on_delete: OnDelete = "end",
    ) -> None:
        """Use an open *ledger*; see `open` for the rest.

        Raises:
            InvalidInput: *on_delete* is unknown, or there is no place for *allowed_types*.
        """
        super().__init__(serde=registered_only(serde, allowed_types))
        self._on_delete = check_on_delete(on_delete)
        self._opened = ledger if isinstance(ledger, OpenedLedger) else OpenedLedger(ledger=ledger, what=_WHAT)
        cache = MemoryCache()
        self._blobs = KnownBlobs(cache)
        self._threads = KnownThreads(cache)
        self._turns = SessionTurns()

    @classmethod
    def open(
        cls,
        database_url: str | None = None,
        namespace: str | None = None,
        *,
        data_dir: Path | str | None = None,
        password: Secret | None = None,
        actor: str | None = None,
        serde: Any = None,
        allowed_types: Sequence[RegisteredType] = (),
        on_delete: OnDelete = "end",
        store: Any = None,
    ) -> Self:
        """Return a saver that opens the ledger at the beginning of a ``with`` or ``async with`` block.

        Without *database_url* the environment chooses the database, or it is the embedded PostgreSQL. *password* is
        that of `MemoryLedger.open`, which may be a function. *serde* is a serializer of
        LangGraph, such as `EncryptedSerializer`; then no text is stored beside it. Objects in values are loaded if
        LangGraph registers their type, as it does messages, or *allowed_types* names it: the class, or its module and
        name. With *on_delete* ``"refuse"`` no thread or checkpoint can be deleted.
        """
        names = {"data_dir": data_dir, "password": password, "actor": actor, "store": store}
        given = {name: value for name, value in names.items() if value}
        opened = OpenedLedger(database_url, namespace, what=_WHAT, **given)
        return cls(opened, serde=serde, allowed_types=allowed_types, on_delete=on_delete)

    @property
    def _reads(self) -> Reads:
        return Reads(self.serde, self._blobs, self._threads)

    @property
    def _writes(self) -> Writes:
        return Writes(self._reads, self._threads, self._turns)

    @property
    def _task_writing(self) -> TaskWriting:
        return TaskWriting(self._reads, self._threads, self._turns)

    @property
    def _removals(self) -> Removals:
        check_deletes(self._on_delete, "the saver", field="thread")
        return Removals(self._reads)

    # asynchronous
    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that *config* names, or the newest of its thread and namespace."""
        return await self._opened.run(self._reads.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yield checkpoints, those with the greatest id first; without *config*, those of all threads."""
        places = await self._opened.run(self._reads.places, config, filter, before, limit)
        for at in range(0, len(places), _PAGE):
            for found in await self._opened.run(self._reads.tuples, places[at : at + _PAGE]):
                yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint, the values of its new channels, and its messages as entries, in one write."""
        return await self._opened.run(self._writes.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote after a checkpoint."""
        await self._opened.run(self._task_writing.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """End the thread: it reads as empty, and its id may be used again; the history stays in the log."""
        await self._opened.run_once(partial(self._removals.delete_thread, thread_id=thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Hide the checkpoints of these runs and their writes; it looks at the checkpoints of their threads only."""
        await self._opened.run_once(partial(self._removals.delete_for_runs, run_ids=run_ids))

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Start a thread from another one as it is now: a fork, which copies nothing."""
        await self._opened.run(self._writes.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Hide all but the newest checkpoint of each namespace; ``"delete"`` ends the threads.

        What delta channels need of older checkpoints stays, and what is written meanwhile.

        Raises:
            TypeError: *thread_ids* is one text.
            ValueError: the *strategy* is unknown.
        """
        await self._opened.run_once(partial(self._removals.prune, thread_ids=thread_ids, strategy=strategy))

    async def aget_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """Return the writes to each channel since the nearest ancestor that has its value, and that value."""
        return await self._opened.run(partial(delta_history, self._reads), config, channels)

    async def aversion_of(self, config: RunnableConfig) -> int | None:
        """Return the version of the session at which a checkpoint was stored; None if there is no such checkpoint."""
        return await self._opened.run(self._reads.version_of, config)

    async def aconfig_at(
        self, thread_id: str, *, version: int | None = None, at: datetime | str | None = None
    ) -> RunnableConfig | None:
        """Return the config of the checkpoint that was the newest at a version of the session, or at a time."""
        return await self._opened.run(self._reads.config_at, thread_id, version, at)

    # not asynchronous
    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """See `aget_tuple`."""
        return self._opened.call(self._reads.get_tuple, config)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """See `alist`."""
        places = self._opened.call(self._reads.places, config, filter, before, limit)
        for at in range(0, len(places), _PAGE):
            yield from self._opened.call(self._reads.tuples, places[at : at + _PAGE])

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """See `aput`."""
        return self._opened.call(self._writes.put, config, checkpoint, metadata, new_versions)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """See `aput_writes`."""
        self._opened.call(self._task_writing.put_writes, config, writes, task_id, task_path)

    def delete_thread(self, thread_id: str) -> None:
        """See `adelete_thread`."""
        self._opened.call(repeated(partial(self._removals.delete_thread, thread_id=thread_id)))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """See `adelete_for_runs`."""
        self._opened.call(repeated(partial(self._removals.delete_for_runs, run_ids=run_ids)))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """See `acopy_thread`."""
        self._opened.call(self._writes.copy_thread, source_thread_id, target_thread_id)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """See `aprune`."""
        self._opened.call(repeated(partial(self._removals.prune, thread_ids=thread_ids, strategy=strategy)))

    def get_delta_channel_history(
        self, *, config: RunnableConfig, channels: Sequence[str]
    ) -> Mapping[str, DeltaChannelHistory]:
        """See `aget_delta_channel_history`."""
        return self._opened.call(partial(delta_history, self._reads), config, channels)

    def version_of(self, config: RunnableConfig) -> int | None:
        """See `aversion_of`."""
        return self._opened.call(self._reads.version_of, config)

    def config_at(
        self, thread_id: str, *, version: int | None = None, at: datetime | str | None = None
    ) -> RunnableConfig | None:
        """See `aconfig_at`."""
        return self._opened.call(self._reads.config_at, thread_id, version, at)

    def get_next_version(self, current: str | int | None, channel: None) -> str:
        """Return the version after *current*, with a random part: two branches never have the same one."""
        number = 0 if current is None else current if isinstance(current, int) else int(current.split(".")[0])
        return f"{number + 1:08}.{random.getrandbits(48):012x}"
