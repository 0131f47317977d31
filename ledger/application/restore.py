"""Restore a past state of a session."""

from collections.abc import Sequence
from functools import partial
from typing import Unpack

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.session_start import session_opened, starts_life
from ledger.history.items import prior_items
from ledger.results import Guard, Version
from ledger.session.commands import ChangeConfig, Command
from ledger.session.merge.command import IfMatch, PutSession, TokenCount
from ledger.session.merge.fields import body_of
from ledger.session.state import SessionState
from ledger.strict_json import check_integer
from ledger.tokenizers import TOKENIZERS


async def restore(handle: NamespaceHandle, session_id: str, version: int, **guard: Unpack[Guard]) -> Version:
    """Restore by new events what the session was at *version*, also after its end; return the new version.

    Messages with their order, ids and texts, the summary as a text, data, memories, config and expiry become what they
    were. History is not rewritten.

    Raises:
        SessionNotFound, VersionNotFound: there is no such state.
        VersionConflict: the session is not at *expected_version*.
    """
    # http W-70
    check_integer(version, field="version")
    stream = handle.stream(session_id, guard.get("user_id"))
    past = await handle.services.states.at(stream, version=version)
    body = body_of(past)

    async def commands_for(state: SessionState) -> Sequence[Command]:
        new_life, write_id = starts_life(handle, state), handle.services.clock.ulid()
        put = PutSession(
            write_id=write_id,
            body=body,
            evidence=IfMatch(),
            count=partial(count, past.config.tokenizer),
            new_ids=tuple(handle.services.clock.ulid() for _ in range(body.ids_needed)),
            prior=await prior_items(handle.services.store, stream, state, body),
            opening=session_opened(stream, past.config, write_id) if new_life else None,
            restoring=not new_life and state.has_expired(handle.services.clock.now()),
        )
        working = past.working
        return [put, ChangeConfig(write_id, past.config, working.extraction, working.tokens)]

    written = await handle.change(stream, commands_for, "restore", {"version": version}, guard)
    return Version(written.version, replayed=written.replayed)


class _Message(msgspec.Struct, frozen=True, kw_only=True):
    """The fields of a message that a tokenizer reads."""

    role: str
    content: str
    kind: str = "message"
    tool_name: str | None = None
    tool_call_id: str | None = None
    arguments: object = None


def count(tokenizer: str, role: str | None, text: str) -> TokenCount:
    """Return the tokens of a message of *role*, or of a summary if there is no role."""
    counter = TOKENIZERS[tokenizer]
    found = counter.count_text(text) if role is None else counter.count(_Message(role=role, content=text))
    return TokenCount(found.tokens, found.tokenizer, found.fallback)
