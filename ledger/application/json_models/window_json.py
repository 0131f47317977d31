"""A session as the viewer shows it: its timeline as columns, its window item by item."""

from typing import Literal

from pydantic import Field

from ledger.application.json_models.entry_json import SummaryShape
from ledger.application.json_models.session_json import BudgetShape
from ledger.application.json_models.shapes import Shape, Time
from ledger.events import Ranges
from ledger.history.departures import SummaryStatus
from projections.log.entry_fates import EndCause, LeftCause, MarkType
from projections.memory_config.budget import EntryPart


class EntryColumnsShape(Shape):
    """The entries that a page adds, one place for each; versions and times are differences from the one before."""

    added: tuple[int, ...] = Field(description="Versions; the first is the difference from `after`.")
    ms: tuple[int, ...] = Field(description="Recorded, in milliseconds; the first is the difference from `start_ms`.")
    kind: tuple[int, ...] = Field(description="Places in `kinds`.")
    role: tuple[int, ...] = Field(description="Places in `roles`.")
    tokens: tuple[int, ...]


class LeftShape(Shape):
    """Entries that left the window; a clear names all versions before it."""

    version: int
    versions: Ranges
    cause: LeftCause
    key: str | None
    summary_id: str | None


class ReturnedShape(Shape):
    """Entries that are in the window again, because of a rebuild."""

    version: int
    versions: Ranges


class OverlayShape(Shape):
    """A summary that covers entries without taking them out of the window."""

    version: int
    summary_id: str
    versions: Ranges


class EditedEntryShape(Shape):
    """An edit of the entry that was added at version *entry*."""

    version: int
    entry: int
    tokens: int
    role: str | None = Field(description="The new role; null if it stays.")


class CreatedSummaryShape(Shape):
    """A summary, live from its version on; what it folds ends there."""

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


class EndedSummaryShape(Shape):
    """A summary that is not live from *version* on."""

    version: int
    summary_id: str | None = Field(description="Null stands for all of them.")
    cause: EndCause


class MarkShape(Shape):
    """Something to mark in a picture of the session."""

    version: int
    ms: int
    type: MarkType
    text: str
    tokens: int | None = Field(description="Of a recorded context.")
    rendered_version: int | None = Field(description="Of a recorded context.")
    limit: int | None = Field(description="Of a config, in tokens.")
    strategy: str | None = Field(description="Of the window.")


class TimelineShape(Shape):
    """What the events after *after*, up to *version*, did to entries, summaries and config; pages apply in order.

    An entry is active from its version until the first row of `left` that names it, and again from each row of
    `returned` until the next of `left`. It is `cleared` from the first
    clear after it, and before that what the last row that names it says.
    """

    after: int
    version: int = Field(description="The `after` of the next page.")
    newest: int = Field(description="The version that the session is at.")
    start_ms: int
    kinds: tuple[str, ...]
    roles: tuple[str, ...]
    entries: EntryColumnsShape
    left: tuple[LeftShape, ...]
    returned: tuple[ReturnedShape, ...]
    covers: tuple[OverlayShape, ...]
    edited: tuple[EditedEntryShape, ...]
    summaries: tuple[CreatedSummaryShape, ...]
    ended: tuple[EndedSummaryShape, ...]
    marks: tuple[MarkShape, ...]


class WindowBudgetShape(BudgetShape):
    """Tokens of a window by part, and what sets the limit."""

    limit_from: str | None = Field(description="The path of the config field that sets the limit.")


class WindowRecordingShape(Shape):
    """The event that recorded the window; ``proved`` if what is shown has its digests."""

    version: int
    recorded_at: Time
    actor: str
    verdict: Literal["proved", "differs"]


class WindowItemShape(Shape):
    """A shown entry, summary or piece of knowledge."""

    kind: Literal["entry", "summary", "knowledge"]
    id: str
    version: int
    tokens: int | None = Field(description="Null for a piece of knowledge: the budget has the sum.")
    source: EntryPart | Literal["summary", "knowledge"] = Field(
        description="The part of the budget that it counts for."
    )
    text: str = Field(description="The first 2,000 characters.")
    length: int = Field(description="Characters in all.")
    role: str | None
    entry_kind: str | None
    tool_name: str | None
    covered: Ranges
    gap: bool = Field(description="Whether something is left out before it.")
    score: float | None = Field(description="Of the search that found it.")


class HiddenEntriesShape(Shape):
    """Entries that are active, and why they are not shown."""

    versions: Ranges
    reason: Literal["window_strategy"]


class WindowNotKnownShape(Shape):
    """Why the log that a session was imported from does not tell what its agent sent, from a version on."""

    version: int
    text: str
    line: int | None = Field(description="Of the imported file.")


class WindowShape(Shape):
    """What the model is shown at a version; a recorded window is the recorded one."""

    version: int
    config_version: int | None = Field(description="The version of the event with the config; null in a what-if.")
    strategy: str
    turn: int | None = Field(description="Counts interactions since the last clear.")
    recorded: WindowRecordingShape | None
    tokens: int
    budget: WindowBudgetShape
    total: int = Field(description="The number of items, on all pages.")
    dropped: int
    items: tuple[WindowItemShape, ...]
    shown: Ranges = Field(description="Versions of the shown entries, on all pages.")
    recalled: Ranges
    summaries: tuple[str, ...]
    hidden: tuple[HiddenEntriesShape, ...]
    hidden_total: int
    not_known: tuple[WindowNotKnownShape, ...] = Field(description="The newest reasons; of an imported session.")
    not_known_total: int


class ModelCallShape(Shape):
    """What a model was shown when it was asked; without a recorded context, what it would have been."""

    version: int
    turn: int | None
    recorded: bool
    tokens: int
    limit: int | None
    shown: Ranges
    summaries: tuple[str, ...]
    hidden: int
    strategy: str


class ModelCallsShape(Shape):
    """A page of model calls, oldest first."""

    calls: tuple[ModelCallShape, ...]
    next_after: int | None


class PastSummaryShape(SummaryShape):
    """A summary and how it ended."""

    status: SummaryStatus
    ended_version: int | None = Field(description="In a list, null for one that its strategy dropped.")
    folded_into: str | None


class PastSummariesShape(Shape):
    """A page of summaries, oldest first."""

    summaries: tuple[PastSummaryShape, ...]
    next_after: int | None
    version: int


class SummaryNodeShape(Shape):
    """A summary, the versions of the entries that it covers itself, and what it folds."""

    summary_id: str
    version: int
    versions: Ranges
    entries: int
    folds: "tuple[SummaryNodeShape, ...]"
    cut: bool = Field(description="Whether it folds more than is shown.")


class SummaryRequestShape(Shape):
    """The event that asked for a summary, why it was due, and the tokens that it was to replace."""

    version: int
    reasons: tuple[str, ...]
    tokens: int


class SummaryOutputShape(Shape):
    """A model call that wrote a summary."""

    model: str | None
    input_tokens: int | None
    output_tokens: int | None


class SummaryRecordShape(PastSummaryShape):
    """A summary with everything that it was made of."""

    tree: SummaryNodeShape
    requested: SummaryRequestShape | None
    outputs: tuple[SummaryOutputShape, ...]
    latency_ms: int | None = Field(description="From the request to the completion.")


class TextMatchShape(Shape):
    """An entry, or a summary, with the text."""

    version: int
    kind: str
    preview: str = Field(description="80 characters around the first place.")
    count: int
    entry_id: str | None
    summary_id: str | None
    role: str | None


class TextMatchesShape(Shape):
    """A page of matches."""

    matches: tuple[TextMatchShape, ...]
    next_after: int | None = Field(description="The `after` of the next page; null when all was read.")
    scanned_to: int
