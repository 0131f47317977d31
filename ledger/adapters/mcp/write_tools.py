"""The tools that write: each appends events, and none takes history away. Source: adapters MC-1, MC-2."""

from typing import Annotated, Final

from mcp.types import ToolAnnotations
from pydantic import Field

from ledger.adapters.mcp.tool_calls import CallContext, LedgerSource
from ledger.adapters.mcp.tool_set import ToolSet
from ledger.adapters.mcp.tool_shapes import (
    AddedMemories,
    AddedMemory,
    AsOfTime,
    CompactedSession,
    EntryToAdd,
    ForkedSession,
    Remembered,
    RepeatKey,
    SessionName,
    SessionUser,
    WrittenVersion,
)
from ledger.application.writing.entry_writes import BATCH_ENTRIES
from ledger.errors import CompactionUnderWay, InvalidInput, RecordNotFound, SessionNotFound
from ledger.results import Guard

#: A model may be asked for a summary, after an entry or on request; such a model may be elsewhere.
ADDS: Final = ToolAnnotations(read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=True)
CHANGES: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=False, idempotent_hint=True, open_world_hint=False
)
TAKES_AWAY: Final = ToolAnnotations(
    read_only_hint=False, destructive_hint=True, idempotent_hint=True, open_world_hint=False
)
#: How long a compaction is waited for; clients give up a call after a minute.
_WAIT_S: Final = 20.0


def add_writing_tools(tools: ToolSet, source: LedgerSource) -> None:
    """Add the tools that write."""

    @tools.add("Add memory", ADDS)
    async def add_memory(
        session_id: SessionName,
        entries: Annotated[list[EntryToAdd], Field(min_length=1, max_length=BATCH_ENTRIES)],
        context: CallContext,
        user_id: SessionUser = None,
        idempotency_key: RepeatKey = None,
    ) -> AddedMemories:
        """Add messages, tool calls and tool results to a session: all of them, or none. The first ones start it.

        Send an `idempotency_key` with a call that you may repeat, so that its entries are there once.
        """
        call = await source.writer(context)
        drafts = [entry.model_dump(exclude_none=True) for entry in entries]
        call.check_roles(drafts)
        added = await call.ledger.add_entries(session_id, drafts, idempotency_key=idempotency_key, user_id=user_id)
        return AddedMemories(
            session_id=session_id,
            version=added.version,
            replayed=added.replayed,
            entries=[
                AddedMemory(
                    entry_id=entry.entry_id,
                    version=entry.version,
                    hash=entry.hash,
                    tokens=entry.tokens,
                    known=entry.known,
                )
                for entry in added.entries
            ],
        )

    @tools.add("Fork session", CHANGES)
    async def fork_session(
        session_id: SessionName,
        new_session_id: Annotated[str, Field(description="The id of the new session.")],
        context: CallContext,
        version: Annotated[
            int | None, Field(ge=0, description="The version to fork at; by default the newest.")
        ] = None,
        at: AsOfTime = None,
        user_id: SessionUser = None,
        idempotency_key: RepeatKey = None,
    ) -> ForkedSession:
        """Start a new session from another one, as it is now or was earlier; both go on by themselves."""
        call = await source.writer(context)
        forked = await call.ledger.fork(
            session_id, new_session_id, version=version, at=at, user_id=user_id, idempotency_key=idempotency_key
        )
        return ForkedSession(
            session_id=forked.session_id,
            forked_from=forked.forked_from,
            at_version=forked.at_version,
            version=forked.version,
            replayed=forked.replayed,
        )

    @tools.add("Compact session", ADDS)
    async def compact_session(
        session_id: SessionName,
        context: CallContext,
        key: Annotated[str | None, Field(description="One of the config's compactions; by default the first.")] = None,
        force: Annotated[bool, Field(description="Even for a single entry.")] = False,
        user_id: SessionUser = None,
        idempotency_key: RepeatKey = None,
    ) -> CompactedSession:
        """Compact now: old entries leave the context, and a summary stands for them. They stay in the history.

        It may ask the model that the session's memory config names.
        """
        call = await source.writer(context)
        try:
            done = await call.ledger.compress(
                session_id,
                key=key,
                force=force,
                wait_s=_WAIT_S,
                **_guard(user_id, idempotency_key),
            )
        except CompactionUnderWay as going:
            return CompactedSession(session_id=session_id, status="under_way", compaction_id=going.compaction_id)
        return CompactedSession(
            session_id=session_id,
            status="done",
            compaction_id=done.compaction_id,
            version=done.version,
            entries_compressed=done.entries_compressed,
            tokens_before=done.tokens_before,
            tokens_after=done.tokens_after,
            summary=done.summary.text if done.summary else None,
            replayed=done.replayed,
        )

    @tools.add("Restore session", CHANGES)
    async def restore_session(
        session_id: SessionName,
        version: Annotated[int, Field(ge=1, description="The version to go back to.")],
        context: CallContext,
        user_id: SessionUser = None,
        idempotency_key: RepeatKey = None,
    ) -> WrittenVersion:
        """Make a session what it was at a version, by new events; what came later stays in the history."""
        call = await source.writer(context)
        written = await call.ledger.restore(session_id, version, **_guard(user_id, idempotency_key))
        return WrittenVersion(session_id=session_id, version=written, replayed=written.replayed)

    @tools.add("Remove entry", TAKES_AWAY)
    async def remove_entry(
        session_id: SessionName,
        entry_id: Annotated[str, Field(description="The entry's id, as get_context and get_history show it.")],
        context: CallContext,
        user_id: SessionUser = None,
        idempotency_key: RepeatKey = None,
    ) -> WrittenVersion:
        """Remove an entry and the rest of its answer from the context. It stays in the history: this erases nothing."""
        call = await source.writer(context)
        written = await call.ledger.remove_entry(session_id, entry_id, **_guard(user_id, idempotency_key))
        return WrittenVersion(session_id=session_id, version=written, replayed=written.replayed)

    @tools.add("Clear session", TAKES_AWAY)
    async def clear_session(
        session_id: SessionName,
        context: CallContext,
        end: Annotated[bool, Field(description="Also end the session.")] = False,
        user_id: SessionUser = None,
        idempotency_key: RepeatKey = None,
    ) -> WrittenVersion:
        """Empty the context of a session. Everything stays in the history and can be restored: this erases nothing."""
        call = await source.writer(context)
        written = await call.ledger.clear_session(session_id, end=end, **_guard(user_id, idempotency_key))
        if not written:
            raise SessionNotFound(session_id)
        return WrittenVersion(session_id=session_id, version=written, replayed=written.replayed)

    @tools.add("Remember", CHANGES)
    async def remember(
        text: Annotated[str, Field(description="One fact, in a sentence that is clear by itself.")],
        context: CallContext,
        user_id: Annotated[str | None, Field(description="Whom it is about; by default nobody.")] = None,
        memory_id: Annotated[str | None, Field(description="Of a memory to change; by default a new one.")] = None,
        topics: list[str] | None = None,
        entities: list[str] | None = None,
        session_id: Annotated[str | None, Field(description="The session that it comes from.")] = None,
    ) -> Remembered:
        """Store a fact in long-term memory, which outlives sessions. An equal one is not stored twice."""
        call = await source.writer(context)
        record_id = memory_id or call.handle.services.clock.ulid()
        given = {"text": text, "user_id": user_id, "topics": topics, "entities": entities, "session_id": session_id}
        record = {name: value for name, value in given.items() if value is not None}
        memory = call.ledger.long_term
        try:
            await memory.create([{"id": record_id, "memory_type": "semantic", **record}])
        except InvalidInput as fault:
            raise _of_arguments(fault) from None
        try:
            await memory.history(record_id)
        except RecordNotFound:
            return Remembered(memory_id=None, known=True)
        return Remembered(memory_id=record_id, known=False)


def _of_arguments(fault: InvalidInput) -> InvalidInput:
    """Return *fault* of the one record of `remember` with the names of the arguments of the tool."""
    text = str(fault).replace("memories.0.id:", "memory_id:", 1).removeprefix("memories.0.")
    return InvalidInput(fault.code, text, limit=fault.limit)


def _guard(user_id: str | None, idempotency_key: str | None) -> Guard:
    return {"user_id": user_id, "idempotency_key": idempotency_key}
