"""Events of summary views: their definitions, runs and results, on one stream per namespace."""

import msgspec

from ledger.events.compaction_events import ModelOutput
from ledger.events.payload_types import Content, JsonObject, Method, Payload, PayloadPart


class SummaryViewDefinition(PayloadPart, frozen=True):
    """What a summary view summarizes: records of the namespace that match *filters*, apart by their *group_by* fields.

    ``time_window_days`` leaves out records created earlier; ``continuous`` runs the view again from time to time.
    """

    name: str | None = None
    group_by: tuple[str, ...] = ()
    filters: JsonObject = msgspec.field(default_factory=dict)
    time_window_days: int | None = None
    continuous: bool = False
    prompt: str | None = None
    model_name: str | None = None


class _AboutView(Payload, frozen=True):
    """Base of events about one summary view."""

    view_id: str

    @property
    def item_id(self) -> str:
        """The view's id."""
        return self.view_id


class SummaryViewCreated(_AboutView, frozen=True):
    """A summary view was defined; its definition never changes."""

    type = "summary_view.created"
    definition: SummaryViewDefinition


class SummaryViewDeleted(_AboutView, frozen=True):
    """A summary view and its results are no longer shown; a run that has not ended fails."""

    type = "summary_view.deleted"


class SummaryViewRunRequested(_AboutView, frozen=True):
    """All partitions of a view are to be summarized, by a worker; *task_id* names the run.

    With *force* also those that have not changed.
    """

    type = "summary_view.run_requested"
    task_id: str
    force: bool = False


class SummaryViewRunStarted(_AboutView, frozen=True):
    """A worker began a run."""

    type = "summary_view.run_started"
    task_id: str


class SummaryViewRunCompleted(_AboutView, frozen=True):
    """Every partition of the view is up to date; *partitions* were found."""

    type = "summary_view.run_completed"
    task_id: str
    partitions: int = 0


class SummaryViewRunFailed(_AboutView, frozen=True):
    """A run ended before all its partitions were summarized; the results that it stored stay."""

    type = "summary_view.run_failed"
    task_id: str
    error: Content[str]


class SummaryViewPartitionSummarized(_AboutView, frozen=True):
    """A partition was summarized: the records whose fields have the values in *group*.

    *memory_count* is the number of all of them; no summary and 0 records mean that none matches. *request_hash* says
    what was asked, so that a run leaves out a partition that has not changed.
    """

    type = "summary_view.partition_summarized"
    group: dict[str, str]
    summary: Content[str] = ""
    memory_count: int = 0
    method: Method = "llm"
    request_hash: str = ""
    model: str | None = None
    outputs: tuple[ModelOutput, ...] = ()
    task_id: str | None = None
