"""Events of a rebuild: the history since the last clear under another memory config, from request to outcome."""

from datetime import datetime
from typing import Any, Literal, TypeAlias

from ledger.events.compaction_events import ModelOutput
from ledger.events.entry_events import NO_FACTS, ContentFacts, KnownToWriter
from ledger.events.payload_types import Content, JsonObject, Kind, Payload, PayloadPart, Ranges, ToolStatus

#: Why a rebuild ended without a result: an error, another change of the session, or more than one write can hold.
RebuildFailure: TypeAlias = Literal["error", "superseded", "too_large"]


class RebuildRequested(Payload, frozen=True):
    """The history since the last clear will be shown as if *config* had always applied; nothing has changed yet."""

    type = "rebuild.requested"
    rebuild_id: str
    config: JsonObject


class RebuildAnswered(Payload, frozen=True):
    """A model wrote a text for a running rebuild, which had come to the event of version *until*.

    Nothing has changed yet: whoever goes on with the rebuild finds the text here and asks no model again. With *paused*
    the process that asked stops here, because it may not ask for more texts in a row, and a worker goes on.
    """

    type = "rebuild.answered"
    rebuild_id: str
    until: int
    output: ModelOutput
    model: str | None = None
    paused: bool = False


class RebuildFailed(Payload, frozen=True):
    """A rebuild ended without a result: the window and the config are as they were."""

    type = "rebuild.failed"
    rebuild_id: str
    reason: RebuildFailure
    detail: Content[str] = ""


class RebuildCompleted(Payload, frozen=True):
    """From here on *config* applies, as if it had always; the other events of the write are the rest of the change.

    No compaction from before stands for an entry any more: what left under *config* leaves again in this write. Live
    summaries in *retired* have no place in it. *removed* counts the entries that are neither active nor compacted.
    *tasks* are, by compaction of this write, the versions of the entries that its prompts named as the task.
    """

    type = "rebuild.completed"
    rebuild_id: str
    config: JsonObject
    retired: tuple[str, ...] = ()
    removed: int = 0
    tasks: tuple[tuple[str, int], ...] = ()


class ReturnedEntry(PayloadPart, frozen=True):
    """An entry as it is in the log, with its newest text, what folds need to know of it, and the flags of `EntryAdded`.

    *erased* if a compaction had erased it: search finds it again.
    """

    version: int
    entry_id: str
    write_id: str
    kind: Kind
    role: str
    content: Content[str]
    tokens: int
    tokenizer: str
    recorded_us: int
    fallback: bool = False
    data: Content[Any] = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    arguments: Content[Any] = None
    claimed_at: datetime | None = None
    metadata: Content[JsonObject | None] = None
    facts: ContentFacts = NO_FACTS
    edited_version: int | None = None
    listed: KnownToWriter | None = None
    extracted: bool = False
    persisted_us: int = 0
    erased: bool = False


class EntriesReturned(Payload, frozen=True):
    """Entries that a compaction had taken out of the window are in it again, each in its place."""

    type = "entries.returned"
    entries: tuple[ReturnedEntry, ...]

    @property
    def versions(self) -> Ranges:
        """The versions of the entries, each a range of its own."""
        return tuple((entry.version, entry.version) for entry in self.entries)
