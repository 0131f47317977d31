"""Events of compactions, from request to outcome, and of summaries that a caller wrote."""

from datetime import datetime

from ledger.errors import FailureReason
from ledger.events.payload_types import (
    Action,
    Content,
    DiscardReason,
    Effect,
    JsonObject,
    Method,
    Payload,
    PayloadPart,
    Ranges,
)


class Block(PayloadPart, frozen=True):
    """A rolling block: its number and its first and last item, all counted from 1.

    The ids of its first and last entry are set when it has a summary.
    """

    number: int
    first_item: int
    last_item: int
    first_id: str | None = None
    last_id: str | None = None


class PlannedCall(PayloadPart, frozen=True):
    """A model call that a compaction needs; the request hash covers messages, model and parameters."""

    request_hash: str
    template_hash: str
    model: str | None = None
    parameters: JsonObject | None = None


class CompactionRequested(Payload, frozen=True):
    """A compaction was planned; nothing has changed yet."""

    type = "compaction.requested"
    compaction_id: str
    key: str
    strategy: str
    config: JsonObject
    action: Action
    effect: Effect
    covered: Ranges
    tokens: int
    seen_version: int
    automatic: bool
    reasons: tuple[str, ...] = ()
    folds: tuple[str, ...] = ()
    target_tokens: int | None = None
    calls: tuple[PlannedCall, ...] = ()
    block: Block | None = None


class ModelOutput(PayloadPart, frozen=True):
    """The output of one model call: a replay reads it here and calls no model.

    Without *text*, it is exactly the text of the summary.
    """

    request_hash: str
    text: Content[str | None] = None
    input_tokens: int | None = None
    output_tokens: int | None = None


class Pass(PayloadPart, frozen=True):
    """One pass of a Chain of Density: the entities it added, and how dense its summary is."""

    summary: Content[str]
    tokens: int
    entity_count: int
    density: float
    entities: Content[tuple[str, ...]] = ()


class CompactionCompleted(Payload, frozen=True):
    """A compaction took effect: the covered entries left the window, or an overlay joined it.

    ``first_version`` is the place of the summary: the version of the oldest entry it stands for, also through the
    summaries it folds. ``starts_at`` and ``ends_at`` are its time range; only an imported summary has ``created_at``.
    ``trust`` is the lowest of its sources. ``model_failed``: a model was asked and failed, ``error`` says how, and the
    summary was written without it. ``passes`` are those of a Chain of Density; ``ended`` is why there were
    no more.
    """

    type = "compaction.completed"
    schema_version = 2
    compaction_id: str
    key: str
    strategy: str
    effect: Effect
    covered: Ranges
    tokens_before: int
    folds: tuple[str, ...] = ()
    summary_id: str | None = None
    text: Content[str] = ""
    tokens_after: int = 0
    tokenizer: str = ""
    fallback: bool = False
    method: Method | None = None
    model: str | None = None
    outputs: tuple[ModelOutput, ...] = ()
    over_target: bool = False
    trust: str | None = None
    model_failed: bool = False
    error: Content[str | None] = None
    first_version: int = 0
    starts_at: datetime | None = None
    ends_at: datetime | None = None
    created_at: datetime | None = None
    block: Block | None = None
    passes: tuple[Pass, ...] = ()
    ended: str | None = None


class CompactionFailed(Payload, frozen=True):
    """A compaction gave no usable summary; no entry left the window."""

    type = "compaction.failed"
    compaction_id: str
    key: str
    reason: FailureReason
    detail: Content[str] = ""


class CompactionDiscarded(Payload, frozen=True):
    """A result came too late: the entries it covers had changed."""

    type = "compaction.discarded"
    compaction_id: str
    key: str
    reason: DiscardReason


class Numbered(PayloadPart, frozen=True):
    """Items of one unit: the version at which each starts, how many came before, entries that belong elsewhere."""

    starts: tuple[int, ...] = ()
    dropped: int = 0
    strays: tuple[tuple[int, int], ...] = ()


class CountedAnswer(PayloadPart, frozen=True):
    """The answer that a next entry may go on with: whether it calls tools, has thinking, waits for results."""

    calls: bool = False
    thinks: bool = False
    waits: bool = False


class CountedItems(PayloadPart, frozen=True):
    """The items so far, by unit; ``waiting`` are calls without result, each with whether it was given up.

    Without *answer*, no entry that comes next goes on with an answer.
    """

    interactions: Numbered = Numbered()
    messages: Numbered = Numbered()
    waiting: tuple[tuple[int, bool], ...] = ()
    closed: bool = False
    counted: bool = False
    answer: CountedAnswer | None = None


class CountedFailures(PayloadPart, frozen=True):
    """Failures of a key (or block) one after the other, and how many entries came after the last."""

    key: str
    block: int
    count: int
    entries_since: int
    reason: FailureReason = "error"


class StrategyProgress(PayloadPart, frozen=True):
    """What a strategy folded for itself, and the config under which it did."""

    config: JsonObject
    folded: JsonObject


class Continuation(PayloadPart, frozen=True):
    """What strategies had counted, beside entries and summaries: items, watermarks, failures, progress.

    Without *items*, they are those of the entries. Numbers of entries are versions, in an exported state places
    from 1.
    """

    items: CountedItems | None = None
    watermarks: tuple[tuple[str, int], ...] = ()
    failures: tuple[CountedFailures, ...] = ()
    progress: tuple[StrategyProgress, ...] = ()


class CompactionContinued(Payload, frozen=True):
    """Strategies go on from what they had counted when the state was exported, or was what is restored."""

    type = "compaction.continued"
    continuation: Continuation


class ContextSet(Payload, frozen=True):
    """A caller wrote the summary of what came before; it replaces those in *folds*. Without text, it removed them."""

    type = "context.set"
    summary_id: str | None = None
    text: Content[str] = ""
    tokens: int = 0
    tokenizer: str = ""
    fallback: bool = False
    folds: tuple[str, ...] = ()
