"""The history of a session as columns: which entries came and left, which summaries stood for them. A linear fold.

A page of the fold needs nothing of what came before it, so a reader asks for the newest events only, and applies pages
in order. An entry is active from its version until the first row of `left` that names it, and again from each row of
`returned` until the next of `left`. Its fate is ``cleared`` from the first clear after it, and before that the cause of
the last row that names it.
"""

from typing import Literal, TypeAlias

import msgspec

from ledger.errors import UnknownEvent
from ledger.events import (
    CompactionCompleted,
    CompactionFailed,
    ConfigChanged,
    ContextRendered,
    ContextSet,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    JsonObject,
    OpaqueEvent,
    Ranges,
    RebuildCompleted,
    RebuildFailed,
    RebuildRequested,
    RecordedEvent,
    SessionCleared,
    SessionOpened,
    SessionRestored,
)
from projections.log.timeline import describe
from projections.memory_config import config
from projections.summaries import Summary, summary_context, summary_of

LeftCause: TypeAlias = Literal["covered", "erased", "removed", "cleared"]
EndCause: TypeAlias = Literal["folded", "withdrawn", "retired", "evicted", "cleared"]
MarkType: TypeAlias = Literal[
    "opened",
    "fork",
    "config",
    "clear",
    "context",
    "compaction_failed",
    "restored",
    "rebuild_requested",
    "rebuilt",
    "rebuild_failed",
]

_TEXT = 200  # characters of a mark


class EntryColumns(msgspec.Struct):
    """The entries that a page adds, one place for each.

    *added* are versions, each as the difference from the one before; the first is that from the page's *after*. *ms*
    are the times of recording, as differences too, the first from the page's *start_ms*. *kind* and *role* are places
    in the page's lists.
    """

    added: list[int] = []
    ms: list[int] = []
    kind: list[int] = []
    role: list[int] = []
    tokens: list[int] = []


class Left(msgspec.Struct, frozen=True, kw_only=True):
    """Entries that left the window at *version*; a clear names all versions before it."""

    version: int
    versions: Ranges
    cause: LeftCause
    key: str | None = None
    summary_id: str | None = None


class Returned(msgspec.Struct, frozen=True, kw_only=True):
    """Entries that are in the window again from *version* on."""

    version: int
    versions: Ranges


class Overlay(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that covers entries without taking them out of the window."""

    version: int
    summary_id: str
    versions: Ranges


class EditedEntry(msgspec.Struct, frozen=True, kw_only=True):
    """An edit at *version* of the entry added at version *entry*; *role* is None if it stays."""

    version: int
    entry: int
    tokens: int
    role: str | None = None


class CreatedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary, live from *version* on; *folds* end there."""

    summary_id: str
    version: int
    key: str
    tokens: int
    tokens_before: int
    versions: Ranges
    first_version: int
    folds: tuple[str, ...]
    method: str | None
    model: str | None
    overlay: bool

    @classmethod
    def of(cls, summary: Summary) -> "CreatedSummary":
        """Return *summary* without its text."""
        own = {name: getattr(summary, name) for name in cls.__struct_fields__ if name != "versions"}
        return cls(versions=summary.covered, **own)


class EndedSummary(msgspec.Struct, frozen=True, kw_only=True):
    """A summary that is not live from *version* on; None stands for all of them."""

    version: int
    summary_id: str | None
    cause: EndCause


class Mark(msgspec.Struct, frozen=True, kw_only=True):
    """Something to mark in a picture of the session.

    *tokens* and *rendered_version* are those of a recorded context, *limit* and *strategy* those of a config.
    """

    version: int
    ms: int
    type: MarkType
    text: str
    tokens: int | None = None
    rendered_version: int | None = None
    limit: int | None = None
    strategy: str | None = None


class Timeline(msgspec.Struct, kw_only=True):
    """The events after version *after* up to *version*, of a session that is at version *newest*."""

    after: int
    version: int
    newest: int
    start_ms: int = 0
    kinds: list[str] = []
    roles: list[str] = []
    entries: EntryColumns = msgspec.field(default_factory=EntryColumns)
    left: list[Left] = []
    returned: list[Returned] = []
    covers: list[Overlay] = []
    edited: list[EditedEntry] = []
    summaries: list[CreatedSummary] = []
    ended: list[EndedSummary] = []
    marks: list[Mark] = []


class TimelinePage:
    """Collects the page of a timeline, event by event."""

    def __init__(self, after: int, newest: int) -> None:
        self.page = Timeline(after=after, version=after, newest=newest)
        self._added, self._ms = after, 0

    def add(self, event: RecordedEvent) -> None:
        """Add the next event.

        Raises:
            UnknownEvent: a newer release wrote it; a timeline without it would be wrong.
            UnknownConfig: it has a memory config that this release cannot read.
        """
        page, payload, version = self.page, event.payload, event.version
        if page.version == page.after:
            page.start_ms = self._ms = event.recorded_us // 1_000
        page.version = version
        match payload:
            case EntryAdded():
                self._entry(event, payload)
            case EntryEdited(entry_version=entry, tokens=tokens, role=role):
                page.edited.append(EditedEntry(version=version, entry=entry, tokens=tokens, role=role))
            case EntryRemoved(entry_version=entry):
                page.left.append(Left(version=version, versions=((entry, entry),), cause="removed"))
            case CompactionCompleted():
                self._compaction(event, payload)
            case ContextSet():
                self._context_set(event, payload)
            case RebuildCompleted(retired=retired):
                page.ended += (EndedSummary(version=version, summary_id=name, cause="retired") for name in retired)
            case EntriesReturned(versions=back):
                page.returned.append(Returned(version=version, versions=back))
            case SessionCleared():
                page.left.append(Left(version=version, versions=((1, version),), cause="cleared"))
                page.ended.append(EndedSummary(version=version, summary_id=None, cause="cleared"))
            case OpaqueEvent(type=name, schema_version=schema_version):
                raise UnknownEvent(name, schema_version, version=version)
            case _:
                pass
        page.marks.extend(_marks(event))

    def evict(self, version: int, summary_id: str) -> None:
        """Add that a summary is dropped at *version*, which only the state knows."""
        self.page.ended.append(EndedSummary(version=version, summary_id=summary_id, cause="evicted"))

    def _entry(self, event: RecordedEvent, payload: EntryAdded) -> None:
        columns, ms = self.page.entries, event.recorded_us // 1_000
        columns.added.append(event.version - self._added)
        columns.ms.append(ms - self._ms)
        columns.kind.append(_place(self.page.kinds, payload.kind))
        columns.role.append(_place(self.page.roles, payload.role))
        columns.tokens.append(payload.tokens)
        self._added, self._ms = event.version, ms

    def _compaction(self, event: RecordedEvent, payload: CompactionCompleted) -> None:
        page, name = self.page, payload.summary_id
        if payload.effect != "overlay":
            cause: LeftCause = "erased" if payload.effect == "erase" else "covered"
            page.left.append(
                Left(version=event.version, versions=payload.covered, cause=cause, key=payload.key, summary_id=name)
            )
        elif name is not None and payload.covered:
            page.covers.append(Overlay(version=event.version, summary_id=name, versions=payload.covered))
        if name is None:
            return
        page.summaries.append(CreatedSummary.of(summary_of(event, payload, name)))
        for fold in payload.folds:
            page.ended.append(EndedSummary(version=event.version, summary_id=fold, cause="folded"))

    def _context_set(self, event: RecordedEvent, payload: ContextSet) -> None:
        page, written = self.page, summary_context(event, payload)
        for fold in payload.folds:
            cause: EndCause = "folded" if written else "withdrawn"
            page.ended.append(EndedSummary(version=event.version, summary_id=fold, cause=cause))
        if written is not None:
            page.summaries.append(CreatedSummary.of(written))


def _marks(event: RecordedEvent) -> list[Mark]:
    """Return the mark of *event*, if it has one."""
    match event.payload:
        case SessionOpened(config=raw, forked_from=parent):
            return [_mark(event, "fork" if parent else "opened", raw)]
        case ConfigChanged(config=raw):
            return [_mark(event, "config", raw)]
        case RebuildRequested():
            return [_mark(event, "rebuild_requested")]
        case RebuildCompleted(config=raw):
            return [_mark(event, "rebuilt", raw)]
        case RebuildFailed():
            return [_mark(event, "rebuild_failed")]
        case ContextRendered(tokens=tokens, rendered_version=rendered, strategy=strategy):
            mark = _mark(event, "context")
            return [msgspec.structs.replace(mark, tokens=tokens, rendered_version=rendered, strategy=strategy)]
        case SessionCleared():
            return [_mark(event, "clear")]
        case CompactionFailed():
            return [_mark(event, "compaction_failed")]
        case SessionRestored():
            return [_mark(event, "restored")]
        case _:
            return []


def _mark(event: RecordedEvent, type: MarkType, raw: JsonObject | None = None) -> Mark:
    loaded = config.recorded(raw, version=event.version) if raw is not None else None
    return Mark(
        version=event.version,
        ms=event.recorded_us // 1_000,
        type=type,
        text=describe(event.payload)[:_TEXT],
        limit=loaded.token_limit if loaded else None,
        strategy=loaded.window.type if loaded else None,
    )


def _place(names: list[str], name: str) -> int:
    try:
        return names.index(name)
    except ValueError:
        names.append(name)
        return len(names) - 1
