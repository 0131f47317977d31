"""Reading checkpoints: no fold of the thread, a few look-ups by key. Source: adapters LG-6 … LG-8, LG-10."""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, Final

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import CheckpointTuple, get_checkpoint_id
from langgraph.checkpoint.serde.types import TASKS
from msgspec.structs import replace

from ledger.adapters.foreign_names import key_of, stored_key
from ledger.adapters.langgraph.blobs import read_blobs
from ledger.adapters.langgraph.checkpoint_place import CheckpointPlace
from ledger.adapters.langgraph.keys import (
    CHECKPOINTS,
    COPIES,
    COPY,
    WRITES,
    beginning,
    checkpoint_key,
    config_of,
    names_in,
    session_of,
    thread_of,
)
from ledger.adapters.langgraph.known_blobs import KnownBlobs
from ledger.adapters.langgraph.known_threads import KnownThreads, NewestCheckpoint
from ledger.adapters.langgraph.referenced_values import ReferencedValues, wanted
from ledger.adapters.langgraph.runs import run_of, sessions
from ledger.adapters.langgraph.stored_checkpoints import from_plain_or_packed
from ledger.adapters.langgraph.task_writes import TaskWrites, in_order, task_writes_of
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.key_value_reads import list_kept_of_life, newest_version, start_of_life
from ledger.errors import LogCorrupted
from ledger.memory import MemoryLedger
from ledger.results import KeptValue

#: The version of checkpoints from which on what is sent to tasks is a value of a channel.
_WITH_SENDS: Final = 4
#: Of a channel of a checkpoint that has none; the saver's own begin so too.
_FIRST_VERSION: Final = f"{1:08}"


class Reads:
    """The reading half of a saver; each method takes the ledger first."""

    def __init__(self, serde: Any, blobs: KnownBlobs, threads: KnownThreads) -> None:
        self.serde = serde
        self.known_blobs = blobs
        self._threads = threads

    async def get_tuple(self, ledger: MemoryLedger, config: RunnableConfig) -> CheckpointTuple | None:
        """Return the checkpoint that *config* names, or the newest."""
        thread_id, namespace = names_in(config)
        session, wanted_id = session_of(thread_id), get_checkpoint_id(config)
        handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
        version = await newest_version(handle, session)
        newest = self._threads.newest(session, version, namespace)
        if newest is not None and wanted_id in {None, newest.checkpoint_id}:
            place = CheckpointPlace(thread_id, namespace, newest.checkpoint_id, newest.stored, newest.version)
            return await self._tuple(ledger, place, newest.writes) or await self.get_tuple(ledger, config)
        began = await start_of_life(handle, session, version)
        found = await self._place_in(handle, began, thread_id, namespace, wanted_id)
        if began is None or found is None:
            return None
        writes = await self._writes(ledger, found, began)
        if not wanted_id:
            read = NewestCheckpoint(found.checkpoint_id, found.stored, found.version, writes)
            self._threads.learn(session, version, namespace, read)
        return await self._tuple(ledger, found, writes, began) or await self.get_tuple(ledger, config)

    async def began(self, ledger: MemoryLedger, thread_id: str) -> int | None:
        """Return the version at which the life of a thread's session began; None if there is none."""
        handle, session = ledger._handle, session_of(thread_id)  # noqa: SLF001 - adapters are part of the ledger
        return await start_of_life(handle, session, await newest_version(handle, session))

    async def place(
        self, ledger: MemoryLedger, thread_id: str, namespace: str, checkpoint_id: str | None
    ) -> CheckpointPlace | None:
        """Return where a checkpoint is stored, or the one with the greatest id; None if there is none."""
        handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
        began = await self.began(ledger, thread_id)
        return await self._place_in(handle, began, thread_id, namespace, checkpoint_id)

    async def is_still_at(self, ledger: MemoryLedger, place: CheckpointPlace) -> bool:
        """Tell whether a checkpoint is still stored at that *place*: its thread was not deleted."""
        now = await self.place(ledger, place.thread_id, place.namespace, place.checkpoint_id)
        return now is not None and now.version == place.version

    async def _place_in(
        self, handle: NamespaceHandle, began: int | None, thread_id: str, namespace: str, checkpoint_id: str | None
    ) -> CheckpointPlace | None:
        """Return what `place` does, of a life that *began* at that version."""
        if began is None:
            return None
        session = session_of(thread_id)
        prefix = checkpoint_key(namespace, checkpoint_id) if checkpoint_id else beginning(namespace)
        found = await list_kept_of_life(
            handle, session, began, CHECKPOINTS, prefix, greatest_first=not checkpoint_id, limit=1
        )
        if not found or (checkpoint_id and found[0].key != prefix):
            return None
        return self._place(session, thread_id, found[0])

    async def places(
        self,
        ledger: MemoryLedger,
        config: RunnableConfig | None,
        filter: Mapping[str, Any] | None,
        before: RunnableConfig | None,
        limit: int | None,
    ) -> list[CheckpointPlace]:
        """Return the checkpoints of a thread, or of all threads, the greatest id first."""
        if limit is not None and limit <= 0:
            return []
        namespace = config["configurable"].get("checkpoint_ns") if config else None
        only = get_checkpoint_id(config) if config else None
        bound = get_checkpoint_id(before) if before else None
        thread_id = names_in(config)[0] if config else None
        own = await sessions(ledger, run_of(filter or {})) if thread_id is None else [session_of(thread_id)]
        found: list[CheckpointPlace] = []
        for session in own:
            count = 0
            async for place in self.all_places(ledger, session, thread_id, namespace, before=bound):
                is_wanted = (only is None or place.checkpoint_id == only) and (
                    bound is None or place.checkpoint_id < bound
                )
                if is_wanted and (not filter or self._matches(place, filter)):
                    found.append(place)
                    count += 1
                    if namespace is not None and limit is not None and count >= limit:
                        break
        found.sort(key=lambda place: place.checkpoint_id, reverse=True)
        return found[:limit]

    async def all_places(
        self,
        ledger: MemoryLedger,
        session: str,
        thread_id: str | None,
        namespace: str | None = None,
        *,
        before: str | None = None,
    ) -> Any:
        """Yield the checkpoints of a session, in each namespace the greatest id first."""
        prefix = "" if namespace is None else beginning(namespace)
        last = checkpoint_key(namespace, before) if namespace is not None and before else None
        if thread_id is None and key_of(session) is None:
            copy = await ledger.get_kept(session, COPIES, COPY)
            thread_id = None if copy is None else stored_key(copy.value)
        while True:
            page = await ledger.list_kept(
                session, CHECKPOINTS, prefix=prefix, before=last, greatest_first=True, limit=100
            )
            for value in page:
                yield self._place(session, thread_id, value)
            if len(page) < 100:
                return
            last = page[-1].key

    async def tuples(self, ledger: MemoryLedger, places: Sequence[CheckpointPlace]) -> list[CheckpointTuple]:
        """Return the checkpoints at *places* with their values and writes; not of threads deleted meanwhile."""
        began = {thread_id: await self.began(ledger, thread_id) for thread_id in {each.thread_id for each in places}}
        found = []
        for place in places:
            writes = await self._writes(ledger, place, began[place.thread_id])
            found.append(await self._tuple(ledger, place, writes))
        return [each for each in found if each is not None]

    async def _tuple(
        self, ledger: MemoryLedger, place: CheckpointPlace, writes: Iterable[TaskWrites], began: int | None = None
    ) -> CheckpointTuple | None:
        """Return a checkpoint with its values; None if its thread was deleted since the *place* was looked for."""
        try:
            return await self._tuple_at(ledger, place, writes, began)
        except LogCorrupted:
            if await self.is_still_at(ledger, place):
                raise
            return None

    async def _tuple_at(
        self, ledger: MemoryLedger, place: CheckpointPlace, writes: Iterable[TaskWrites], began: int | None
    ) -> CheckpointTuple:
        written = in_order(writes)
        stored = place.values
        values = {channel: reference for channel, (_, reference) in stored.items() if reference is not None}
        sends = await self.sends(ledger, place)
        references = [*values.values(), *(each[3] for each in written), *sends]
        fetched = await self.fetch(ledger, place.thread_id, references, began=began)
        versions = {channel: version for channel, (version, _) in stored.items()}
        checkpoint: Any = {"channel_versions": versions, **from_plain_or_packed(self.serde, place.stored["checkpoint"])}
        checkpoint["channel_values"] = {channel: fetched.value(reference) for channel, reference in values.items()}
        if sends:
            checkpoint["channel_values"][TASKS] = list(map(fetched.value, sends))
            newest = max(checkpoint["channel_versions"].values(), default=_FIRST_VERSION)
            checkpoint["channel_versions"] = {**checkpoint["channel_versions"], TASKS: newest}
        parent = place.stored["parent"]
        return CheckpointTuple(
            config=place.config,
            checkpoint=checkpoint,
            metadata=from_plain_or_packed(self.serde, place.stored["metadata"]),
            parent_config=config_of(place.thread_id, place.namespace, parent) if parent else None,
            pending_writes=[(task, channel, fetched.value(reference)) for task, channel, _, reference in written],
        )

    async def fetch(
        self,
        ledger: MemoryLedger,
        thread_id: str,
        references: Sequence[Mapping[str, Any] | None],
        *,
        whole: bool = False,
        began: int | None = None,
    ) -> ReferencedValues:
        """Return what *references* need, level by level: nodes, then messages; all their blobs if it is the *whole*.

        *began* is the version at which the life of the session began, if the caller knows it.

        Raises:
            LogCorrupted: a blob is missing.
        """
        fetched = ReferencedValues(self.serde, self.known_blobs, thread_id)
        level = wanted(references)
        while level:
            missing = sorted(fetched.take(level, whole=whole))
            if missing:
                if began is None:
                    began = await self.began(ledger, thread_id)
                stored = {} if began is None else await read_blobs(ledger, session_of(thread_id), began, missing)
                fetched.blobs |= stored
                self.known_blobs.add_all(stored)
            level = fetched.below(level)
        return fetched

    async def _writes(self, ledger: MemoryLedger, place: CheckpointPlace, began: int | None = None) -> list[TaskWrites]:
        return task_writes_of(await self.kept_of_tasks(ledger, place, began, every=True))

    async def kept_of_tasks(
        self, ledger: MemoryLedger, place: CheckpointPlace, began: int | None = None, *, every: bool
    ) -> list[KeptValue]:
        """Return what is kept of each task after a checkpoint: *every* value, or the newest; *began* as in `fetch`."""
        if began is None:
            began = await self.began(ledger, place.thread_id)
        prefix, session = beginning(place.namespace, place.checkpoint_id), session_of(place.thread_id)
        handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
        return [] if began is None else await list_kept_of_life(handle, session, began, WRITES, prefix, every=every)

    async def written(self, ledger: MemoryLedger, place: CheckpointPlace) -> list[tuple[str, str, int, dict[str, Any]]]:
        """Return (task, channel, index, reference) of the writes after a checkpoint, in the order of their tasks."""
        return in_order(await self._writes(ledger, place))

    async def sends(self, ledger: MemoryLedger, place: CheckpointPlace) -> list[dict[str, Any]]:
        """Return references of what a checkpoint sends to tasks, if it is so old that its parent's writes have that."""
        parent = place.stored["parent"]
        if not parent or from_plain_or_packed(self.serde, place.stored["checkpoint"])["v"] >= _WITH_SENDS:
            return []
        written = await self.written(ledger, replace(place, checkpoint_id=parent))
        return [reference for _, channel, _, reference in written if channel == TASKS]

    async def version_of(self, ledger: MemoryLedger, config: RunnableConfig) -> int | None:
        """Return the version of a checkpoint's event."""
        thread_id, namespace = names_in(config)
        place = await self.place(ledger, thread_id, namespace, get_checkpoint_id(config))
        return None if place is None else place.version

    async def config_at(
        self, ledger: MemoryLedger, thread_id: str, version: int | None, at: datetime | str | None
    ) -> RunnableConfig | None:
        """Return the config of the checkpoint that was the newest of the root namespace then."""
        session = session_of(thread_id)
        newest = await ledger.list_kept(
            session, CHECKPOINTS, prefix=beginning(""), greatest_first=True, limit=1, version=version, at=at
        )
        return self._place(session, thread_id, newest[0]).config if newest else None

    def metadata(self, place: CheckpointPlace) -> dict[str, Any]:
        """Return the metadata of a checkpoint."""
        found: dict[str, Any] = from_plain_or_packed(self.serde, place.stored["metadata"])
        return found

    def _matches(self, place: CheckpointPlace, filter: Mapping[str, Any]) -> bool:
        metadata = self.metadata(place)
        return all(metadata.get(key) == value for key, value in filter.items())

    def _place(self, session: str, thread_id: str | None, value: KeptValue) -> CheckpointPlace:
        stored = value.value
        return CheckpointPlace(
            thread_of(session, stored["thread"]) if thread_id is None else thread_id,
            stored_key(stored["namespace"]),
            stored["id"],
            stored,
            value.version,
        )
