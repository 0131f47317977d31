"""Writing checkpoints: one write each, with its blobs and its messages. Source: adapters LG-2 … LG-6, LG-10."""

from collections import OrderedDict
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

import msgspec
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ledger.adapters.langgraph.keys import BLOBS, CHECKPOINTS, WRITES, checkpoint_key, session_of, writes_key
from ledger.adapters.langgraph.reading import CheckpointPlace, Reads, config_of, names_in
from ledger.adapters.langgraph.stored import (
    Stored,
    Typed,
    blob_bytes,
    is_messages,
    message_digests,
    plain_or_packed,
)
from ledger.adapters.langgraph.window import all_entries
from ledger.errors import VersionConflict
from ledger.memory import MemoryLedger
from ledger.results import Guard

CONFIG: Final = {"profile": "none"}
MESSAGES: Final = "messages"
_SESSIONS: Final = 1_000
_BLOBS: Final = 1_000


class _Run(msgspec.Struct):
    """Versions that this process wrote one after the other, so that nobody else wrote between, and what they hold."""

    first: int
    last: int
    blobs: set[str]
    #: The newest checkpoint of each namespace, as far as it was looked for.
    heads: dict[str, CheckpointPlace]


class RecentWrites:
    """What this process wrote to each session, as far as nobody else wrote to it meanwhile."""

    def __init__(self) -> None:
        self._of: OrderedDict[str, _Run] = OrderedDict()

    def add(
        self,
        session: str,
        blobs: Iterable[str],
        versions: Sequence[int],
        *,
        entries: int = 0,
        head: CheckpointPlace | None = None,
    ) -> None:
        """Remember *blobs*, stored at *versions* after so many *entries* of the same write.

        *head* is the newest checkpoint after it, if nobody else wrote since it was looked for.
        """
        run = self._of.get(session)
        begins = versions[0] == 2 + entries  # the session, which nobody else can have written to
        if run is None or versions[0] != run.last + 1 + entries or len(run.blobs) > _BLOBS:
            run = self._of[session] = _Run(versions[0], 0, set(), {})
            head = head if begins else None
        run.last = versions[-1]
        run.blobs.update(blobs)
        if head is not None:
            run.heads[head.namespace] = head
        self._of.move_to_end(session)
        if len(self._of) > _SESSIONS:
            self._of.popitem(last=False)

    def beside(self, session: str, version: int) -> set[str]:
        """Return the blobs that are in the life of the session that *version* is in."""
        run = self._of.get(session)
        return run.blobs if run is not None and run.first <= version <= run.last else set()

    def blobs(self, session: str) -> tuple[set[str], int]:
        """Return the blobs of a session and the version of it of which they are known."""
        run = self._of.get(session)
        return (set(), 0) if run is None else (run.blobs, run.last)

    def head(self, session: str, namespace: str) -> tuple[CheckpointPlace | None, int]:
        """Return the newest checkpoint and the version of the session of which that is known; None if it is not."""
        run = self._of.get(session)
        return (None, 0) if run is None else (run.heads.get(namespace), run.last)

    def forget_heads(self, session: str) -> None:
        """Forget the newest checkpoints of a session, since somebody else wrote to it."""
        run = self._of.get(session)
        if run is not None:
            run.heads.clear()


class Writes:
    """The writing half of a saver; each method takes the ledger first."""

    def __init__(self, reads: Reads, recent: RecentWrites) -> None:
        self._serde = reads.serde
        self._reads = reads
        self._recent = recent
        self._is_open = not isinstance(reads.serde, EncryptedSerializer)

    async def put(
        self,
        ledger: MemoryLedger,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and return the config that names it."""
        thread_id, namespace = names_in(config)
        session = session_of(thread_id)
        while True:
            head, version = self._recent.head(session, namespace)
            if head is None:
                break
            try:
                return await self._put(ledger, config, checkpoint, metadata, new_versions, head, version)
            except VersionConflict:
                if self._recent.head(session, namespace) == (head, version):  # it was not this saver that wrote
                    self._recent.forget_heads(session)
        head = await self._reads.place(ledger, thread_id, namespace, None)
        return await self._put(ledger, config, checkpoint, metadata, new_versions, head, None)

    async def _put(
        self,
        ledger: MemoryLedger,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        newest: CheckpointPlace | None,
        version: int | None,
    ) -> RunnableConfig:
        """Store a checkpoint after the *newest* one of its namespace, at exactly that *version* if it is given."""
        thread_id, namespace = names_in(config)
        session, parent_id = session_of(thread_id), config["configurable"].get("checkpoint_id")
        parent = newest
        if newest is None or parent_id != newest.checkpoint_id:
            parent = await self._reads.place(ledger, thread_id, namespace, parent_id) if parent_id else None
        body: dict[str, Any] = dict(checkpoint)
        values: dict[str, Any] = body.pop("channel_values")
        stored = Stored(self._serde, splits_messages=self._is_open)
        before = parent.stored["values"] if parent else {}
        references: dict[str, Any] = {}
        for channel, number in {**checkpoint["channel_versions"], **new_versions}.items():
            known = before.get(channel)
            if channel in new_versions or known is None or known[0] != number:
                references[channel] = [number, stored.reference(values[channel]) if channel in values else None]
            else:
                references[channel] = known
        earlier = await self._reads.blobs(ledger, thread_id, [each for _, each in before.values()])
        known_blobs = set(earlier)
        if parent is not None:
            known_blobs |= self._recent.beside(session, parent.version)
        entries: list[dict[str, Any]] = []
        only_entries = False
        follows = newest is None or checkpoint["id"] > newest.checkpoint_id
        if not namespace and self._is_open:
            is_head = parent is newest and follows
            entries, only_entries = self._window(values, references, stored, before, earlier, is_head=is_head)
        value = {
            "thread": thread_id,
            "namespace": namespace,
            "id": checkpoint["id"],
            "parent": parent_id,
            "checkpoint": plain_or_packed(self._serde, body, plain=self._is_open),
            "metadata": plain_or_packed(self._serde, get_checkpoint_metadata(config, metadata), plain=self._is_open),
            "values": references,
        }
        kept = [
            *_blob_values({digest: each for digest, each in stored.blobs.items() if digest not in known_blobs}),
            {"space": CHECKPOINTS, "key": checkpoint_key(namespace, checkpoint["id"]), "value": value},
        ]
        guard: Guard = {} if version is None else {"expected_version": version}
        done = await ledger.keep(session, kept, entries=entries, only_entries=only_entries, config=CONFIG, **guard)
        head = CheckpointPlace(thread_id, namespace, checkpoint["id"], value, done.versions[-1]) if follows else newest
        self._recent.add(session, stored.blobs, done.versions, entries=len(entries), head=head)
        self._remember(stored)
        return config_of(thread_id, namespace, checkpoint["id"])

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
        stored = Stored(self._serde, splits_messages=self._is_open)
        written = [
            [WRITES_IDX_MAP.get(channel, at), channel, stored.reference(value)]
            for at, (channel, value) in enumerate(writes)
        ]
        value = {"task": task_id, "path": task_path, "writes": written}
        session = session_of(thread_id)
        known, version = self._recent.blobs(session)
        kept = [
            *_blob_values({digest: typed for digest, typed in stored.blobs.items() if digest not in known}),
            {"space": WRITES, "key": writes_key(namespace, checkpoint_id, task_id), "value": value},
        ]
        done = None
        if len(kept) <= len(stored.blobs):  # some are left out, so nobody may have ended their life
            with suppress(VersionConflict):
                done = await ledger.keep(session, kept, config=CONFIG, expected_version=version)
        if done is None:
            done = await ledger.keep(session, [*_blob_values(stored.blobs), kept[-1]], config=CONFIG)
        self._recent.add(session, stored.blobs, done.versions)
        self._remember(stored)

    async def copy_thread(self, ledger: MemoryLedger, source: str, target: str) -> None:
        """Fork the session of a thread.

        Raises:
            SessionNotFound: there is no such thread.
            SessionExists: the id of the copy is in use, or was.
        """
        await ledger.fork(session_of(source), session_of(target))

    def _window(
        self,
        values: dict[str, Any],
        references: dict[str, Any],
        stored: Stored,
        before: dict[str, Any],
        earlier: dict[str, Typed],
        *,
        is_head: bool,
    ) -> tuple[list[dict[str, Any]], bool]:
        """Return the entries to add, and whether all others leave the window."""
        old = (before.get(MESSAGES) or [None, None])[1] or {}
        old_digests = message_digests(old, earlier) if "messages" in old else []
        messages = values.get(MESSAGES)
        if not is_messages(messages):
            return [], bool(messages == [] and old_digests)
        assert messages is not None
        digests = message_digests(references[MESSAGES][1], {**earlier, **stored.blobs})
        pairs = list(zip(messages, digests, strict=True))
        if is_head and digests[: len(old_digests)] == old_digests:
            return all_entries(pairs[len(old_digests) :]), False
        return all_entries(pairs), True

    def _remember(self, stored: Stored) -> None:
        for digest, typed in stored.blobs.items():
            self._reads.cache.add(digest, typed)


def _blob_values(blobs: dict[str, Typed]) -> list[dict[str, Any]]:
    return [{"space": BLOBS, "key": digest, "value": blob_bytes(typed)} for digest, typed in blobs.items()]
