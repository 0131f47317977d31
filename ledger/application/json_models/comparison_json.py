"""What changed between two states of a session, or would be different under another config."""

from typing import Annotated, TypeAlias

from pydantic import BeforeValidator, Field

from ledger.application.json_models.entry_json import EntryShape, SummaryShape
from ledger.application.json_models.memory_json import MemoryShape
from ledger.application.json_models.session_json import BudgetShape, StatsShape
from ledger.application.json_models.shapes import Shape, Usd
from ledger.events import JsonObject, Ranges
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig
from projections.memory_config.config_check import FindingCode

#: A memory config with all its fields.
ConfigJson: TypeAlias = Annotated[
    JsonObject, BeforeValidator(lambda found: memory_config.dump(found) if isinstance(found, MemoryConfig) else found)
]


class SpendingShape(Shape):
    """What compactions cost; *cost_usd* is null if a model has no price."""

    compactions: int
    model_calls: int
    input_tokens: int
    output_tokens: int
    cost_usd: Usd | None


class SideShape(Shape):
    """One side of a difference, and what only it shows."""

    version: int
    what_if: bool
    stats: StatsShape
    spent: SpendingShape
    budget: BudgetShape
    only_entries: tuple[EntryShape, ...]
    only_summaries: tuple[SummaryShape, ...]


class EntryPair(Shape):
    """An entry on both sides."""

    before: EntryShape
    after: EntryShape


class MemoryPair(Shape):
    """A memory on both sides."""

    before: MemoryShape
    after: MemoryShape


class TextPair(Shape):
    """A text on both sides."""

    before: str | None
    after: str | None


class NumberPair(Shape):
    """A number on both sides."""

    before: int
    after: int


class EntryChangesShape(Shape):
    """Entries that joined the window, left it, changed, or left it by a compaction."""

    added: tuple[EntryShape, ...]
    removed: tuple[EntryShape, ...]
    edited: tuple[EntryPair, ...]
    covered: tuple[EntryShape, ...]


class MemoryChangesShape(Shape):
    """Structured memories that were added, removed or changed."""

    added: tuple[MemoryShape, ...]
    removed: tuple[MemoryShape, ...]
    edited: tuple[MemoryPair, ...]


class SummaryChangesShape(Shape):
    """Summaries that were added or removed."""

    added: tuple[SummaryShape, ...]
    removed: tuple[SummaryShape, ...]


class ChangesShape(Shape):
    """All that changed, shown or not; *data* is a JSON Patch (RFC 6902)."""

    versions: NumberPair
    tokens: NumberPair
    context: TextPair
    entries: EntryChangesShape
    summaries: SummaryChangesShape
    memories: MemoryChangesShape
    data: tuple[JsonObject, ...]


class DifferenceShape(Shape):
    """What two states of a session show, and what changed between them."""

    before: SideShape
    after: SideShape
    edited: tuple[EntryPair, ...] = Field(description="Entries that both show, with different text.")
    config_changed: bool
    changes: ChangesShape


class AnswersShape(Shape):
    """How many answers of models were recorded, called for, or estimated."""

    recorded: int
    called: int
    estimated: int


class WhatIfCompactionShape(Shape):
    """A compaction that would have been made."""

    key: str
    effect: str
    covered: Ranges
    tokens_before: int
    tokens_after: int
    method: str | None
    model: str | None


class ConfigFindingShape(Shape):
    """Something that is probably not meant: *field* is its JSON path in the config."""

    code: FindingCode
    field: str
    message: str


class ConfigCheckShape(Shape):
    """What is probably wrong with a memory config, by itself or on a session."""

    findings: tuple[ConfigFindingShape, ...]


class WhatIfShape(Shape):
    """What a session would be under another config; *difference* is from what was recorded to this."""

    session_id: str
    version: int
    config: ConfigJson
    completed: tuple[WhatIfCompactionShape, ...]
    failed: int
    spent: SpendingShape
    answers: AnswersShape
    estimated: bool
    difference: DifferenceShape
    findings: tuple[ConfigFindingShape, ...]
