"""An entry as folds read it. Source: R-GEN-1."""

from datetime import datetime
from typing import Any, TypeVar

import msgspec

from ledger.events import (
    NO_FACTS,
    ContentFacts,
    EntryAdded,
    EntryEdited,
    JsonObject,
    Kind,
    KnownToWriter,
    RecordedEvent,
    ReturnedEntry,
    ToolStatus,
    to_datetime,
)

E = TypeVar("E", bound="Entry")

#: Keys in the data of an entry of what the model thought before it, as the providers call it.
THINKING, REASONING, REASONING_CONTENT = "thinking", "reasoning", "reasoning_content"
#: Texts of an entry that holds only what the model thought.
ONLY_THINKING, ONLY_REASONING = "[thinking]", "[reasoning]"
#: Key in the metadata of an entry that no search finds, such as thinking.
HIDDEN = "hidden"
#: Key in the data of an entry of what its block of Anthropic has beside the text.
BLOCK = "block"


class Entry(msgspec.Struct, frozen=True, gc=False):
    """A stored entry at its version, with its current text."""

    version: int
    entry_id: str
    write_id: str
    kind: Kind
    role: str
    content: str
    tokens: int
    tokenizer: str
    recorded_us: int
    fallback: bool = False
    data: Any = None
    tool_name: str | None = None
    tool_call_id: str | None = None
    tool_status: ToolStatus | None = None
    arguments: Any = None
    claimed_at: datetime | None = None
    metadata: JsonObject | None = None
    edited_version: int | None = None
    #: What the writer knew; on the first entry of a write (http W-54).
    listed: KnownToWriter | None = None
    #: What folds read of it in place of its content.
    facts: ContentFacts = NO_FACTS

    @property
    def created_at(self) -> datetime:
        """The time of the entry: the client's, or else the time of recording."""
        return self.claimed_at or self.recorded_at

    @property
    def time_and_place(self) -> tuple[datetime, int]:
        """What orders entries by time; of the same time, by version."""
        return self.created_at, self.version

    @property
    def recorded_at(self) -> datetime:
        """When it was stored, by the server's clock."""
        return to_datetime(self.recorded_us)

    @property
    def pinned(self) -> bool:
        """Whether it belongs to no interaction, and no strategy may remove it."""
        return self.kind == "system_instruction" or (self.kind == "message" and self.role == "system")

    @property
    def starts_interaction(self) -> bool:
        """Whether it is a user message."""
        return self.kind == "message" and self.role == "user"

    @property
    def answers(self) -> bool:
        """Whether the assistant made it: what it says, or a call of a tool."""
        return self.kind == "tool_call" or (self.kind == "message" and self.role == "assistant")

    @property
    def thinks(self) -> bool:
        """Whether it is what the model thought, or has that beside it."""
        return self.facts.thinks

    @property
    def of_server_tool(self) -> bool:
        """Whether it is a call or result of a tool that the provider ran inside its answer, as Anthropic writes it."""
        return self.facts.of_server_tool

    @property
    def outcome(self) -> ToolStatus | None:
        """The outcome of a tool result: its status or, without one, judged by its first word."""
        if self.kind != "tool_result":
            return None
        return self.tool_status or ("error" if self.facts.reads_as_error else "ok")

    @property
    def ends_turn(self) -> bool:
        """Whether an interaction may end with it."""
        speaks = self.kind == "step_result" or (self.kind == "message" and self.role == "assistant")
        return speaks and not self.facts.turn_goes_on


def added(event: RecordedEvent, payload: EntryAdded) -> Entry:
    """Return the entry that *event* added."""
    return Entry(
        event.version,
        payload.entry_id,
        payload.write_id,
        payload.kind,
        payload.role,
        payload.content,
        payload.tokens,
        payload.tokenizer,
        event.recorded_us,
        payload.fallback,
        payload.data,
        payload.tool_name,
        payload.tool_call_id,
        payload.tool_status,
        payload.arguments,
        payload.created_at,
        payload.metadata,
        None,
        payload.listed,
        payload.facts,
    )


def returned(entry: ReturnedEntry) -> Entry:
    """Return the entry that came back."""
    return Entry(**{name: getattr(entry, name) for name in Entry.__struct_fields__})


def edited(entry: E, event: RecordedEvent, payload: EntryEdited) -> E:
    """Return *entry* with the text of *event*, in the same place (R-GEN-4)."""
    return msgspec.structs.replace(
        entry,
        content=payload.content,
        role=payload.role or entry.role,
        tokens=payload.tokens,
        tokenizer=payload.tokenizer,
        fallback=payload.fallback,
        edited_version=event.version,
        facts=msgspec.structs.replace(entry.facts, reads_as_error=payload.reads_as_error),
    )
