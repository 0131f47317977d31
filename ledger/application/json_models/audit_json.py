"""What a model was shown, and what an entry reached."""

from pydantic import Field

from ledger.application.json_models.shapes import Shape, Time
from ledger.events import JsonObject, Ranges


class SourceShape(Shape):
    """Where a line came from."""

    kind: str
    id: str
    version: int
    entries: Ranges
    via: tuple[str, ...]


class LineShape(Shape):
    """A line of the text."""

    text: str
    source: SourceShape | None


class SeenMessageShape(Shape):
    """A chat message, and what it was made of."""

    message: JsonObject
    sources: tuple[SourceShape, ...]


class RecordingShape(Shape):
    """The event that says what was handed over."""

    version: int
    event_id: str
    recorded_at: Time
    actor: str
    actor_claimed: bool
    strategy: str
    config_digest: str
    text_digest: str
    messages_digest: str


class SeenShape(Shape):
    """A context as a model saw it, with the source of each line; ``proved`` if its digests are those recorded."""

    session_id: str
    version: int
    verdict: str
    recorded: RecordingShape | None
    tokens: int
    text: str
    text_digest: str
    messages_digest: str
    lines: tuple[LineShape, ...]
    messages: tuple[SeenMessageShape, ...]


class DerivedSummaryShape(Shape):
    """A summary that an entry reached: *how*, and through which others."""

    summary_id: str
    version: int
    how: str
    via: tuple[str, ...]
    live: bool


class DerivedContextShape(Shape):
    """A recorded context that an entry reached: *how*, and through which summaries."""

    version: int
    rendered_version: int
    how: str
    via: tuple[str, ...]


class DerivedShape(Shape):
    """Everything that an entry reached."""

    session_id: str
    entry_id: str
    versions: tuple[int, ...]
    version: int
    summaries: tuple[DerivedSummaryShape, ...]
    contexts: tuple[DerivedContextShape, ...] = Field(description="Contexts that were recorded.")
