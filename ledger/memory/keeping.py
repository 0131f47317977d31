"""What a session keeps beside its window: data of its own, a lifetime; and bringing a past state back."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Unpack

import msgspec

from ledger.errors import InvalidInput
from ledger.events import JsonObject, SessionOpened
from ledger.history.items import remembered
from ledger.ids import Stream
from ledger.memory.reading import Reading
from ledger.results import Guard, PatchedData, Version, When
from ledger.session.commands import ChangeConfig, ChangeData, Command, OpenSession, SetExpiry
from ledger.session.decisions import decide
from ledger.session.put import Body, BodyMemory, BodyMessage, Counted, PutSession, Remembered, Strict, ids_in_doubt
from ledger.session.put.fields import context_of
from ledger.session.state import SessionState
from ledger.strict_json import check_integer, check_value
from ledger.tokenizers import TOKENIZERS
from projections.config import MemoryConfig

MOST_SECONDS = 10**9


class Keeping(Reading):
    """Session data, lifetimes, and restoring."""

    async def get_data(self, session_id: str, **when: Unpack[When]) -> JsonObject:
        """Return the session's own JSON object; empty for an unknown session."""
        return dict((await self._state_or_empty(session_id, when)).working.data)

    async def patch_data(self, session_id: str, patch: Mapping[str, Any], **guard: Unpack[Guard]) -> PatchedData:
        """Merge *patch* (RFC 7396) into the session's own JSON object and return that.

        Concurrent patches of different keys all survive. A key whose value is none is removed. Source: http W-66.

        Raises:
            InvalidInput: it is no JSON object, or over a limit (trust N-2).
            VersionConflict: the session is not at *expected_version*.
        """
        if not isinstance(patch, Mapping):
            raise InvalidInput("wrong_type", "is a JSON object", field="patch")
        wanted = dict(patch)
        check_value(wanted, field="patch")
        stream = self._stream(session_id, guard.get("user_id"))

        async def commands_for(state: SessionState) -> Sequence[Command]:
            opening = self._opening(stream, state)
            begins = self._begins(state)
            data = {} if begins else state.working.data
            changed = {key: _merged(data.get(key), value) for key, value in wanted.items() if value is not None}
            removed = tuple(key for key, value in wanted.items() if value is None)
            check_value({key: data[key] for key in data if key not in removed} | changed, field="data")
            return [*opening, ChangeData(self._clock.ulid(), changed, removed, begins)]

        written = await self._change(stream, commands_for, "patch_data", {"patch": wanted}, guard)
        state = await self._states.at(stream, version=written.version) if written.replayed else written.state
        return PatchedData(data=dict(state.working.data), version=written.version, replayed=written.replayed)

    async def set_expiry(self, session_id: str, ttl_seconds: int | None, **guard: Unpack[Guard]) -> Version:
        """Let the session expire *ttl_seconds* after its last write, or never, and return its version.

        Expiry follows from the clock: nothing is deleted, and reading still shows the history. Source: http W-20.

        Raises:
            InvalidInput: it is not 1 to 1,000,000,000.
            SessionNotFound: the session has no events.
            VersionConflict: the session is not at *expected_version*.
        """
        if ttl_seconds is not None:
            check_integer(ttl_seconds, field="ttl_seconds", least=1, most=MOST_SECONDS)
        stream = await self._existing(session_id, guard.get("user_id"))
        asked = self._always(lambda write_id: SetExpiry(write_id, ttl_seconds))
        written = await self._change(stream, asked, "set_expiry", {"ttl_seconds": ttl_seconds}, guard)
        return Version(written.version, replayed=written.replayed)

    async def restore(self, session_id: str, version: int, **guard: Unpack[Guard]) -> Version:
        """Bring back what the session was at *version*, also after its end, by new events; return its version then.

        Messages, their order, ids and texts, the summary as a text, data, memories, config and lifetime are as they
        were; history is not rewritten. Source: http W-70.

        Raises:
            SessionNotFound, VersionNotFound: there is no such state.
            VersionConflict: the session is not at *expected_version*.
        """
        stream = await self._existing(session_id, guard.get("user_id"), version=version)
        then = await self._states.at(stream, version=version)
        body = body_of(then)

        async def commands_for(state: SessionState) -> Sequence[Command]:
            begins, write_id = self._begins(state), self._clock.ulid()
            put = PutSession(
                write_id=write_id,
                body=body,
                seen=Strict(),
                count=partial(count, then.config.tokenizer),
                new_id=self._clock.ulid,
                remembered=await self._remembered(stream, state, body),
                opening=self._opened(stream, then.config, write_id) if begins else None,
                restoring=not begins and state.has_expired(self._clock.now()),
            )
            working = then.working
            return [put, ChangeConfig(write_id, then.config, working.extraction, working.tokens)]

        written = await self._change(stream, commands_for, "restore", {"version": version}, guard)
        return Version(written.version, replayed=written.replayed)

    def _opened(self, stream: Stream, config: MemoryConfig, write_id: str) -> SessionOpened:
        begin = OpenSession(
            write_id=write_id,
            namespace=stream.namespace,
            user_id=stream.user_id,
            session_id=stream.session_id,
            config=config,
        )
        (opened,) = decide(SessionState(), begin)
        assert isinstance(opened, SessionOpened)
        return opened

    async def _remembered(self, stream: Stream, state: SessionState, body: Body) -> Remembered:
        """Return what became of those items in *body* that the state alone does not tell."""
        messages, memories = ids_in_doubt(state, body)
        if not (messages or memories) or not state.version:
            return Remembered()
        return await remembered(self._store, stream, state, messages, memories)


def body_of(state: SessionState) -> Body:
    """Return the body that says what *state* is."""
    working = state.working
    return Body(
        messages=tuple(
            BodyMessage(role=entry.role, content=entry.content, id=entry.entry_id) for entry in state.window.entries
        ),
        memories=tuple(
            BodyMemory(fields=one.fields, id=one.memory_id, sent=frozenset(one.fields.__struct_fields__))
            for one in working.memories
        ),
        data=working.data,
        context=context_of(state),
        tokens=working.tokens,
        extraction=working.extraction,
        ttl_seconds=working.ttl_seconds,
        ttl_sent=True,
    )


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message as a tokenizer looks at it."""

    role: str
    content: str
    kind: str = "message"
    tool_name: str | None = None
    tool_call_id: str | None = None
    arguments: object = None


def count(tokenizer: str, role: str | None, text: str) -> Counted:
    """Return the tokens of a text of *role*; without role, those of a summary."""
    counter = TOKENIZERS[tokenizer]
    if role is None:
        found = counter.count_text(text)
    else:
        found = counter.count(_Message(role=role, content=text))
    return Counted(found.tokens, found.tokenizer, found.fallback)


def _merged(current: Any, patch: Any) -> Any:
    """Return *current* after a merge patch, which no null survives (RFC 7396)."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(current) if isinstance(current, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = _merged(merged.get(key), value)
    return merged
