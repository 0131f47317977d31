"""Writing checkpoints: one write each, with its blobs and its messages. Source: adapters LG-2 … LG-6, LG-10."""

from collections.abc import Sequence, Set
from typing import Any, Final

from langchain_core.messages import BaseMessage
from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    get_checkpoint_metadata,
)
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer

from ledger.adapters.foreign_names import key_of, storable
from ledger.adapters.langgraph.blobs import blob_values
from ledger.adapters.langgraph.checkpoint_place import CheckpointPlace
from ledger.adapters.langgraph.checkpoint_reads import Reads
from ledger.adapters.langgraph.entry_messages import put_messages
from ledger.adapters.langgraph.keys import (
    CHECKPOINTS,
    COPIES,
    COPY,
    MESSAGES,
    checkpoint_key,
    config_of,
    names_in,
    session_of,
)
from ledger.adapters.langgraph.known_threads import KnownThreads, ThreadHead, encode
from ledger.adapters.langgraph.runs import noted_run, run_of
from ledger.adapters.langgraph.state_window import NOTHING_SHOWN, NextWindow, to_show, window_after
from ledger.adapters.langgraph.stored_checkpoints import Stored, is_messages, plain_or_packed, storable_values
from ledger.adapters.langgraph.thread_writes import turn, write_once
from ledger.adapters.opened_ledger import repeated
from ledger.application.commands.session_turns import SessionTurns
from ledger.application.reading.key_value_reads import newest_version
from ledger.application.reading.session_reads import partial_state
from ledger.errors import LogCorrupted, VersionConflict
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.ports.contention import until_uncontended

_INPUT: Final = "__start__"
_NO_BLOBS: Final[Set[str]] = frozenset()
_clock: Final = SystemClock()


class Writes:
    """The part of a saver that stores checkpoints; each method takes the ledger first."""

    def __init__(self, reads: Reads, threads: KnownThreads, turns: SessionTurns) -> None:
        self._serde = reads.serde
        self._reads = reads
        self._threads = threads
        self._turns = turns
        self._is_open = not isinstance(reads.serde, EncryptedSerializer)

    async def put(
        self,
        ledger: MemoryLedger,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint and return the config that names it.

        Raises:
            Unavailable: others wrote to the thread all the time.
        """
        thread_id, namespace = names_in(config)
        session = session_of(thread_id)
        handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger

        async def attempt(number: int) -> RunnableConfig:
            head, version = self._threads.head(session, namespace) if number == 0 else (None, 0)
            if not version:
                version = await newest_version(handle, session)
            try:
                if head is None and version:
                    place = await self._reads.place(ledger, thread_id, namespace, None)
                    head = None if place is None else await self._head(ledger, place)
                return await self._put(ledger, config, checkpoint, metadata, new_versions, head, version)
            except VersionConflict:
                self._threads.forget_heads(session)
                raise
            except LogCorrupted:
                if await newest_version(handle, session) == version:
                    raise
                return await attempt(number + 1)  # the thread was deleted meanwhile

        async with turn(self._turns, session, together=False):
            return await until_uncontended(attempt)

    async def _put(
        self,
        ledger: MemoryLedger,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        newest: ThreadHead | None,
        version: int,
    ) -> RunnableConfig:
        """Store a checkpoint after the *newest* one of its namespace, right after that *version* of the session.

        So nobody has stored a later one or ended the thread, whose values this one does not store again.
        """
        thread_id, namespace = names_in(config)
        session, parent_id = session_of(thread_id), config["configurable"].get("checkpoint_id")
        parent = newest
        if newest is None or parent_id != newest.checkpoint_id:
            place = await self._reads.place(ledger, thread_id, namespace, parent_id) if parent_id else None
            parent = None if place is None else await self._head(ledger, place)
        body: dict[str, Any] = dict(checkpoint)
        values: dict[str, Any] = body.pop("channel_values")
        stored = Stored(self._serde, self._reads.known_blobs, splits_messages=self._is_open)
        references = _references(checkpoint, new_versions, parent.values if parent else {}, stored)
        digests = _digests(references.get(MESSAGES), stored, parent)
        follows = newest is None or checkpoint["id"] >= newest.checkpoint_id
        window = (
            NOTHING_SHOWN
            if newest is None
            else NextWindow([], only=False, shown=newest.shown, of_tasks=newest.of_tasks)
        )
        if follows and not namespace and self._is_open:
            messages = values.get(MESSAGES, None if MESSAGES in checkpoint["channel_versions"] else [])
            asked = _input(values.get(_INPUT), references.get(_INPUT), stored)
            window = window_after(window, checkpoint["id"], _as_stored(messages, digests), digests, asked)
        if body["channel_versions"] == {channel: number for channel, (number, _) in references.items()}:
            del body["channel_versions"]  # they are beside the values
        described = get_checkpoint_metadata(config, metadata)
        run_id = run_of(described)
        value = {
            "thread": storable(thread_id),
            "namespace": storable(namespace),
            "id": checkpoint["id"],
            "parent": parent_id,
            "checkpoint": plain_or_packed(self._serde, body, plain=self._is_open),
            "metadata": plain_or_packed(self._serde, described, plain=self._is_open),
            "values": storable_values(references),
        }
        read_blobs = _NO_BLOBS if parent is None else parent.blobs
        known_blobs = _NO_BLOBS if parent is None else self._threads.beside(session, parent.version)
        new = stored.lacking(read_blobs | known_blobs if read_blobs else known_blobs)
        kept = [
            *blob_values(new, besides=put_messages(window.entries, stored.find)),
            *self._new_run(session, run_id, newest, parent),
            {"space": CHECKPOINTS, "key": checkpoint_key(namespace, checkpoint["id"]), "value": value},
        ]
        # before anything waits: a graph that goes on changes its checkpoint
        encoded, waits = encode(value), _waits(values.get(_INPUT), references.get(_INPUT), stored)
        options = {"entries": window.entries, "only_entries": window.only, "expected_version": version}
        done = await write_once(ledger, session, kept, **options)
        if done is None:
            self._threads.forget_heads(session)
        else:
            head = newest
            if follows:
                names = namespace, checkpoint["id"], done.version
                head = ThreadHead(*names, references, digests, _NO_BLOBS, run_id, window.shown, window.of_tasks, waits)
            blobs = [*new, *read_blobs]
            self._threads.add(session, blobs, done.first_version, done.version, head=head)
            if follows:
                again = newest is not None and newest.checkpoint_id == checkpoint["id"]
                self._threads.store(session, namespace, checkpoint["id"], encoded, done.version, again=again)
        self._reads.known_blobs.add_all(new)
        return config_of(thread_id, namespace, checkpoint["id"])

    async def _head(self, ledger: MemoryLedger, place: CheckpointPlace) -> ThreadHead:
        """Return what a step after the checkpoint at *place* needs."""
        values = place.values
        fetched = await self._reads.fetch(ledger, place.thread_id, [each for _, each in values.values()], whole=True)
        messages = (values.get(MESSAGES) or [None, None])[1] or {}
        digests = fetched.message_names(messages) if "messages" in messages else []
        run_id = run_of(self._reads.metadata(place))
        is_known = MESSAGES not in values or "messages" in messages
        shown = digests if is_known and not await self._has_more(ledger, place) else None
        names = place.namespace, place.checkpoint_id, place.version
        return ThreadHead(*names, values, digests, fetched.blobs.keys(), run_id, shown)

    async def _has_more(self, ledger: MemoryLedger, place: CheckpointPlace) -> bool:
        """Tell whether the window may have more than the messages of the checkpoint at *place*: what was said after it.

        Also what was stored before it: a task may end while the checkpoint is on its way that it began with.
        """
        if place.namespace or not self._is_open:
            return False
        handle = ledger._handle  # noqa: SLF001 - adapters are part of the ledger
        active = (await partial_state(handle, session_of(place.thread_id), {})).window.entries
        asked = (place.values.get(_INPUT) or [None, None])[1]
        if asked is not None or (active.last_version or 0) > place.version:
            return True
        written = await self._reads.kept_of_tasks(ledger, place, every=True)
        return any(each.version < place.version for each in written)

    def _new_run(self, session: str, run_id: str | None, *known: ThreadHead | None) -> list[dict[str, Any]]:
        """Return what is kept so that a run finds the session; nothing if a checkpoint before is of that run too."""
        is_known = any(head is not None and head.run_id == run_id for head in known)
        if run_id is None or is_known or self._threads.has_run(session, run_id):
            return []
        return [noted_run(run_id)]

    async def copy_thread(self, ledger: MemoryLedger, source: str, target: str) -> None:
        """Fork the session of a thread.

        Raises:
            SessionNotFound: there is no such thread.
            SessionExists: the id of the copy is in use, or was.
        """
        key = _clock.ulid()
        copy = repeated(lambda own: own.fork(session_of(source), session_of(target), idempotency_key=key))
        await copy(ledger)
        if key_of(session_of(target)) is None:
            await write_once(ledger, session_of(target), [{"space": COPIES, "key": COPY, "value": storable(target)}])


def _references(
    checkpoint: Checkpoint, new_versions: ChannelVersions, before: dict[str, Any], stored: Stored
) -> dict[str, Any]:
    """Return the version and the reference of each channel: that of the parent, *before*, where it did not change.

    The input is looked at anyway, for the names of its messages: a fork of a checkpoint has it again.
    """
    values = checkpoint["channel_values"]
    references: dict[str, Any] = {}
    for channel, number in {**checkpoint["channel_versions"], **new_versions}.items():
        known = before.get(channel)
        is_known = known is not None and known[0] == number and channel not in new_versions
        if is_known and not (channel == _INPUT and channel in values):
            references[channel] = known
        else:
            references[channel] = [number, stored.reference(values[channel]) if channel in values else None]
    return references


def _digests(value: Any, stored: Stored, parent: ThreadHead | None) -> list[str]:
    """Return the digests of the messages that the *value* of their channel refers to."""
    if parent is not None and parent.values.get(MESSAGES) is value:
        return parent.digests
    return stored.digests.get(id(value[1]), []) if value else []


def _as_stored(messages: Any, digests: Sequence[str]) -> Any:
    """Return *messages* without those that a node added in place and did not return; None if it took some away."""
    if not is_messages(messages) and messages != []:
        return messages
    return messages[: len(digests)] if len(messages) >= len(digests) else None


def _input(value: Any, reference: Any, stored: Stored) -> list[tuple[BaseMessage, str]]:
    """Return the messages that a graph is called with, with the names of their blobs."""
    if not isinstance(value, dict) or not reference or "fields" not in (reference[1] or {}):
        return []
    return to_show(value.get(MESSAGES), stored.digests.get(id(reference[1]["fields"].get(MESSAGES)), []))


def _waits(value: Any, reference: Any, stored: Stored) -> bool:
    """Tell whether a graph is called with what is to become messages, and is none yet."""
    asked = value.get(MESSAGES) if isinstance(value, dict) else getattr(value, MESSAGES, None)
    return bool(asked) and not _input(value, reference, stored)
