"""What a model was shown: recorded as digests, rendered again, traced to its sources (trust M-5, P-17). Pure."""

from bisect import bisect_left, bisect_right
from collections.abc import Mapping
from datetime import datetime
from hashlib import sha256
from typing import Literal, TypeAlias

import msgspec
from msgspec.structs import replace

from ledger.events import ContextRendered, JsonObject, Ranges, RecordedEvent
from ledger.events.canonical import canonical_json
from ledger.results import Context
from ledger.session.state import SessionState
from projections.entries import Entry
from projections.log.lineage import How, Lineage, origin, reach
from projections.memory_config import config
from projections.rendering import Shown
from projections.summaries import Summary
from projections.window import Knowledge, Window

ContextVerdict: TypeAlias = Literal["proved", "differs", "not_recorded"]


class LineSource(msgspec.Struct, frozen=True, kw_only=True):
    """Where a line came from: an entry, or a summary with all entries that it and the summaries it folds stand for.

    *version* is that of the entry, or of the event with the summary. A piece of knowledge is part of a summary of this
    or another session: *id* is ``session@version``.
    """

    kind: Literal["entry", "summary", "knowledge"]
    id: str
    version: int
    entries: Ranges = ()
    via: tuple[str, ...] = ()


class SeenLine(msgspec.Struct, frozen=True):
    """A line of the text; headers and blank lines have no source."""

    text: str
    source: LineSource | None = None


class SeenMessage(msgspec.Struct, frozen=True):
    """A chat message, and what it was made of."""

    message: JsonObject
    sources: tuple[LineSource, ...]


class ContextRecording(msgspec.Struct, frozen=True, kw_only=True):
    """The event that recorded a context."""

    version: int
    event_id: str
    recorded_at: datetime
    actor: str
    actor_claimed: bool
    strategy: str
    config_digest: str
    text_digest: str
    messages_digest: str


class ContextAudit(msgspec.Struct, frozen=True, kw_only=True):
    """A context as a model saw it, rendered again at *version*, line by line and message by message.

    The verdict is ``proved`` if both digests (SHA-256, hex) are the recorded ones.
    """

    session_id: str
    version: int
    verdict: ContextVerdict
    recorded: ContextRecording | None
    tokens: int
    text: str
    text_digest: str
    messages_digest: str
    lines: tuple[SeenLine, ...]
    messages: tuple[SeenMessage, ...]


class DerivedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that an entry reached; *live* if it is still in the window. See `lineage.Reached`."""

    summary_id: str
    version: int
    how: How
    via: tuple[str, ...]
    live: bool


class DerivedContext(msgspec.Struct, frozen=True, kw_only=True):
    """A recorded context that an entry reached: the event's version, and the version that was rendered."""

    version: int
    rendered_version: int
    how: How
    via: tuple[str, ...]


class Derived(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that an entry reached up to *version*; it may have had several *versions* under one id."""

    session_id: str
    entry_id: str
    version: int
    versions: tuple[int, ...]
    summaries: tuple[DerivedSummary, ...]
    contexts: tuple[DerivedContext, ...]


def rendered(context: Context, write_id: str) -> ContextRendered:
    """Return the event that records that a model was given *context*."""
    items: list[tuple[int, int] | str] = []
    for item in context.window.items:
        if isinstance(item, Summary):
            items.append(item.summary_id)
        elif items and not isinstance(last := items[-1], str) and last[1] == item.version - 1:
            items[-1] = (last[0], item.version)
        else:
            items.append((item.version, item.version))
    return ContextRendered(
        write_id=write_id,
        rendered_version=context.version,
        strategy=context.config.window.type,
        config_digest=_digest(config.dump(context.config)),
        text_digest=_digest_of_text(context.text),
        messages_digest=_digest(context.messages),
        tokens=context.tokens,
        items=tuple(items),
        recalled=context.window.recalled,
        gaps=tuple(sorted(context.window.gaps)),
        knowledge=tuple(piece.source for piece in context.window.knowledge),
    )


def shown_again(
    event: ContextRendered,
    session_id: str,
    state: SessionState,
    entries: Mapping[int, Entry],
    knowledge: tuple[Knowledge, ...] = (),
) -> Context:
    """Return the context that *event* recorded, from *state* at the rendered version and *entries* by version.

    *knowledge* are the pieces that *event* names. What is not found is left out; then the digests differ.
    """
    versions = sorted(entries)
    items: list[Summary | Entry] = []
    for item in event.items:
        if isinstance(item, str):
            summary = state.summaries.find(item)
            items.extend([summary] if summary else [])
        else:
            shown = versions[bisect_left(versions, item[0]) : bisect_right(versions, item[1])]
            items.extend(entries[version] for version in shown)
    own = sum(item.tokens for item in items)
    window = Window(
        tuple(items),
        own if event.knowledge else event.tokens,
        recalled=event.recalled,
        gaps=frozenset(event.gaps),
        knowledge=knowledge,
        knowledge_tokens=max(0, event.tokens - own) if event.knowledge else 0,
    )
    return Context(session_id, event.rendered_version, window, state.config)


def seen(
    context: Context, event: RecordedEvent | None, lineage: Lineage, *, actor_claimed: bool = False
) -> ContextAudit:
    """Return *context* with its sources, and whether it is what *event* recorded, if one did."""
    text, messages = context.text, context.shown_messages
    found = ContextAudit(
        session_id=context.session_id,
        version=context.version,
        verdict="not_recorded",
        recorded=None,
        tokens=context.tokens,
        text=text,
        text_digest=_digest_of_text(text),
        messages_digest=_digest([shown.message for shown in messages]),
        lines=tuple(
            SeenLine(line, _source(piece.source, lineage) if piece.source else None)
            for piece in context.pieces
            for line in piece.text.split("\n")
        ),
        messages=tuple(
            SeenMessage(shown.message, tuple(_source(item, lineage) for item in shown.sources)) for shown in messages
        ),
    )
    if event is None or not isinstance(payload := event.payload, ContextRendered):
        return found
    recorded = ContextRecording(
        version=event.version,
        event_id=str(event.event_id),
        recorded_at=event.recorded_at,
        actor=event.actor,
        actor_claimed=actor_claimed,
        strategy=payload.strategy,
        config_digest=payload.config_digest,
        text_digest=payload.text_digest,
        messages_digest=payload.messages_digest,
    )
    same = (payload.text_digest, payload.messages_digest) == (found.text_digest, found.messages_digest)
    return replace(found, recorded=recorded, verdict="proved" if same else "differs")


def is_proved(context: Context, event: ContextRendered) -> bool:
    """Tell whether *context*, rendered again, has both digests that *event* recorded."""
    return (event.text_digest, event.messages_digest) == (_digest_of_text(context.text), _digest(context.messages))


def derived(
    session_id: str, entry_id: str, versions: tuple[int, ...], state: SessionState, lineage: Lineage
) -> Derived:
    """Return what the entry with *versions* reached, as of *state*."""
    found = reach(lineage, versions)
    rendered_versions = {version: event.rendered_version for version, event in lineage.contexts}
    return Derived(
        session_id=session_id,
        entry_id=entry_id,
        version=state.version,
        versions=versions,
        summaries=tuple(
            DerivedSummary(
                summary_id=reached.summary_id,
                version=reached.version,
                how=reached.how,
                via=reached.via,
                live=state.summaries.find(reached.summary_id) is not None,
            )
            for reached in found.summaries
        ),
        contexts=tuple(
            DerivedContext(
                version=reached.version,
                rendered_version=rendered_versions[reached.version],
                how=reached.how,
                via=reached.via,
            )
            for reached in found.contexts
        ),
    )


def _source(item: Shown, lineage: Lineage) -> LineSource:
    if isinstance(item, Knowledge):
        source = item.source
        owner = f"{source.user_id}:{source.session_id}" if source.user_id else source.session_id
        return LineSource(kind="knowledge", id=f"{owner}@{source.version}", version=source.version)
    if isinstance(item, Entry):
        return LineSource(kind="entry", id=item.entry_id, version=item.version, entries=((item.version, item.version),))
    whole = origin(lineage, item.summary_id)
    return LineSource(kind="summary", id=item.summary_id, version=item.version, entries=whole.covered, via=whole.via)


def _digest_of_text(text: str) -> str:
    return sha256(text.encode()).hexdigest()


def _digest(value: object) -> str:
    return sha256(canonical_json(value)).hexdigest()
