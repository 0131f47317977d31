"""Bringing a past state of a session back."""

from collections.abc import Sequence
from functools import partial
from typing import Unpack

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import starts_life
from ledger.events import SessionOpened
from ledger.history.items import prior_items
from ledger.ids import Stream
from ledger.results import Guard, Version
from ledger.session.commands import ChangeConfig, Command
from ledger.session.merge.command import IfMatch, PutSession, TokenCount
from ledger.session.merge.fields import body_of
from ledger.session.state import SessionState
from ledger.strict_json import check_integer
from ledger.tokenizers import TOKENIZERS
from projections import config as memory_config
from projections.config import MemoryConfig


async def restore(handle: NamespaceHandle, session_id: str, version: int, **guard: Unpack[Guard]) -> Version:
    """Bring back what the session was at *version*, also after its end, by new events; return its version then.

    Messages, their order, ids and texts, the summary as a text, data, memories, config and lifetime are as they
    were; history is not rewritten.

    Raises:
        SessionNotFound, VersionNotFound: there is no such state.
        VersionConflict: the session is not at *expected_version*.
    """
    # http W-70
    check_integer(version, field="version")
    stream = handle.stream(session_id, guard.get("user_id"))
    then = await handle.services.states.at(stream, version=version)
    body = body_of(then)

    async def commands_for(state: SessionState) -> Sequence[Command]:
        anew, write_id = starts_life(handle, state), handle.services.clock.ulid()
        put = PutSession(
            write_id=write_id,
            body=body,
            evidence=IfMatch(),
            count=partial(count, then.config.tokenizer),
            new_ids=tuple(handle.services.clock.ulid() for _ in range(body.ids_needed)),
            prior=await prior_items(handle.services.store, stream, state, body),
            opening=session_opened(stream, then.config, write_id) if anew else None,
            restoring=not anew and state.has_expired(handle.services.clock.now()),
        )
        working = then.working
        return [put, ChangeConfig(write_id, then.config, working.extraction, working.tokens)]

    written = await handle.change(stream, commands_for, "restore", {"version": version}, guard)
    return Version(written.version, replayed=written.replayed)


def session_opened(stream: Stream, config: MemoryConfig, write_id: str) -> SessionOpened:
    """Return the event that begins a life of the session of *stream*."""
    return SessionOpened(
        write_id=write_id,
        namespace=stream.namespace,
        user_id=stream.user_id,
        session_id=stream.session_id,
        config=memory_config.dump(config),
    )


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    """A message as a tokenizer looks at it."""

    role: str
    content: str
    kind: str = "message"
    tool_name: str | None = None
    tool_call_id: str | None = None
    arguments: object = None


def count(tokenizer: str, role: str | None, text: str) -> TokenCount:
    """Return the tokens of a text of *role*; without role, those of a summary."""
    counter = TOKENIZERS[tokenizer]
    if role is None:
        found = counter.count_text(text)
    else:
        found = counter.count(_Message(role=role, content=text))
    return TokenCount(found.tokens, found.tokenizer, found.fallback)
