"""Sessions: as rows of a list, as a whole, and in numbers."""

from collections.abc import Iterable, Set
from datetime import datetime
from typing import Final

from pydantic import Field

from ledger.application.json_models.entry_json import PastEntryShape, SummaryShape
from ledger.application.json_models.memory_json import MemoryShape
from ledger.application.json_models.shapes import Shape, Time, UserId
from ledger.events import JsonObject
from ledger.history.state_comparison import working_context
from ledger.ports.session_index import IndexedSession, LifeStatus, SessionStatus
from ledger.session.state import SessionState
from projections.log.history import PastEntry
from projections.values.ranges import contains

_FAILED: Final = "In a row, since the last success; also those where no model wrote the summary."
_LAST_FAILURE: Final = "What the last of them was."


class ForkedFromShape(Shape):
    """The session whose history up to *version* a fork shares."""

    session_id: str
    user_id: UserId
    version: int


class SessionShape(Shape):
    """A session in a list; ``unreadable`` is one that a newer release has written to."""

    session_id: str
    user_id: UserId
    namespace: str
    status: SessionStatus
    version: int
    entries: int
    active: int
    summaries: int
    total_tokens: int = Field(
        description="Kept: of the active entries and the summaries, of which a window shows a part."
    )
    active_tokens: int = Field(description="Of the active entries.")
    created_at: Time
    updated_at: Time
    expires_at: Time | None
    failed_compactions: int = Field(description=_FAILED)
    last_failure: str | None = Field(description=_LAST_FAILURE)
    failing_since: Time | None
    failing_model: str | None
    forked_from: ForkedFromShape | None

    @classmethod
    def of(cls, row: IndexedSession, *, namespace: str, now: datetime) -> "SessionShape":
        """Return a *row* of the session index, of *namespace*, as it is *now*: expiry follows from the clock."""
        shown = {name: getattr(row, name) for name in cls.model_fields if name not in {"namespace", "status"}}
        return cls(namespace=namespace, status=row.status_at(now), **shown)


class FamilyMemberShape(Shape):
    """A session of a family, which shares the history of its *parent* up to version *at_version*."""

    session_id: str
    user_id: UserId
    version: int
    parent: str | None
    parent_user_id: UserId
    at_version: int | None
    status: SessionStatus
    updated_at: Time | None


class FamilyShape(Shape):
    """Sessions that share a beginning, parents before their forks: first the *root*; *cut* if there are more."""

    root: FamilyMemberShape
    members: tuple[FamilyMemberShape, ...]
    cut: bool


class ExtractionShape(Shape):
    """How memories are made of the messages."""

    strategy: str
    config: JsonObject


class StateEntryShape(PastEntryShape):
    """An entry of a session, and whether memories were made of it, and when it became a record of its own."""

    persisted_at: Time | None
    extracted: bool

    @classmethod
    def of(cls, past: PastEntry, state: SessionState) -> "StateEntryShape":
        """Return an entry of *state*."""
        flags, version = state.working.flags, past.version
        return cls(
            **dict(PastEntryShape.model_validate(past)),
            persisted_at=flags.persisted_at(version),
            extracted=contains(flags.extracted, version),
        )


class StateShape(Shape):
    """A session: where each of its entries is, and all that it holds beside them."""

    session_id: str
    user_id: UserId
    namespace: str
    status: LifeStatus
    version: int
    entries: tuple[StateEntryShape, ...] = Field(
        description="The active ones, oldest first; each with the summaries that cover it."
    )
    summaries: tuple[SummaryShape, ...]
    memories: tuple[MemoryShape, ...]
    data: JsonObject
    context: str | None = Field(description="The texts that stand for what has left the window.")
    tokens: int = Field(description="The number that a client keeps; the session's own are in its statistics.")
    extraction: ExtractionShape
    ttl_seconds: int | None
    expires_at: Time | None
    created_at: Time
    updated_at: Time

    @classmethod
    def of(
        cls,
        state: SessionState,
        entries: Iterable[PastEntry],
        *,
        session_id: str,
        user_id: str | None,
        namespace: str,
        now: datetime,
    ) -> "StateShape":
        """Return *state* with its *entries*, as it counts *now*: expiry follows from the clock."""
        working = state.working
        return cls(
            session_id=session_id,
            user_id=user_id,
            namespace=namespace,
            status=status_of(state, now),
            version=state.version,
            entries=tuple(StateEntryShape.of(past, state) for past in entries),
            summaries=tuple(SummaryShape.model_validate(summary) for summary in state.summaries.live),
            memories=tuple(MemoryShape.model_validate(memory) for memory in working.memories),
            data=working.data,
            context=working_context(state),
            tokens=working.tokens,
            extraction=ExtractionShape.model_validate(working.extraction),
            ttl_seconds=working.ttl_seconds,
            expires_at=working.expires_at,
            created_at=state.created_at,
            updated_at=state.updated_at,
        )


class ShownEntryShape(StateEntryShape):
    """An entry of a session, and whether the model is shown it."""

    in_window: bool


class ShownStateShape(StateShape):
    """A session, and which of its entries the model is shown; to know that may take a search."""

    entries: tuple[ShownEntryShape, ...]

    @classmethod
    def with_window(cls, state: StateShape, shown: Set[int]) -> "ShownStateShape":
        """Return *state*, of which the model is shown the entries of these versions."""
        entries = (ShownEntryShape(**dict(entry), in_window=entry.version in shown) for entry in state.entries)
        return cls(**{**dict(state), "entries": tuple(entries)})


class BudgetShape(Shape):
    """Tokens of a window by part; each shown item is in exactly one."""

    system: int = Field(description="System instructions and messages.")
    pinned: int = Field(description="Other entries of a kind that the config preserves.")
    current_turn: int = Field(description="Entries of an unfinished interaction.")
    history: int = Field(description="All other entries.")
    summaries: int
    recalled: int = Field(description="Entries that a search brought back.")
    knowledge: int = Field(description="Pieces of a knowledge base.")
    tokens: int = Field(description="The sum of the parts.")
    limit: int | None = Field(description="The smallest limit of the config and the request; null if there is none.")
    excess: int = Field(description="How many tokens more than the limit are shown.")
    over_budget: bool


class StatsShape(Shape):
    """The statistics of a session; every entry since the last clear is active, compressed, or removed."""

    total_entries: int = Field(description="All since the last clear, whatever became of them.")
    active_entries: int
    compressed_entries: int
    removed_entries: int
    erased_entries: int = Field(description="Those of the compressed ones that no summary stands for.")
    window_not_known: int = Field(
        description="Those that say that the log they were read from does not tell what the agent sent."
    )
    summaries: int
    total_tokens: int = Field(
        description="Tokens kept: of the active entries and the summaries; not of what they stand for."
    )
    active_tokens: int = Field(description="Of the active entries.")
    over_budget: bool = Field(description="Whether more is shown than a limit of the config allows.")
    near_limit: bool
    compactions: int
    compactions_in_flight: int
    failed_compactions: int = Field(description=_FAILED)
    last_failure: str | None = Field(description=_LAST_FAILURE)
    failing_since: Time | None
    failing_model: str | None
    model_calls: int
    model_tokens: int
    memories: int
    promoted_memories: int
    version: int
    writes: int
    created_at: Time | None
    updated_at: Time | None
    last_compaction_at: Time | None
    expires_at: Time | None


def status_of(state: SessionState, moment: datetime) -> LifeStatus:
    """Return whether the session lives at *moment* (http W-63)."""
    if not state.opened:
        return "ended"
    return "expired" if state.has_expired(moment) else "live"
