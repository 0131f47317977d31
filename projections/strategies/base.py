"""What a strategy is: a config model and pure functions. Source: R-CFG-1 … R-CFG-4, R-CMP-1, R-WIN-1."""

from collections.abc import Callable, Container, Generator
from decimal import Decimal, InvalidOperation
from typing import Annotated, Any, ClassVar, Literal, Protocol, Self, TypeAlias

import msgspec
from pydantic import AfterValidator, BaseModel, BeforeValidator, ConfigDict, Field, PlainSerializer

from ledger.events import Action, Block, CompactionCompleted, Effect, JsonObject, Pass, Ranges
from projections.compactions import Compactions
from projections.entries import Entry
from projections.items import Items
from projections.prompts import SummaryRequest
from projections.summaries import LiveSummaries, Summary
from projections.window import ActiveEntries, Knowledge, Window
from projections.words.word_index import Why


def _exact(value: object) -> object:
    if isinstance(value, bool) or not isinstance(value, float | int | str):
        return value
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return value


def _plain(value: Decimal) -> float | str:
    return float(value) if Decimal(str(float(value))) == value else str(value)


#: A ratio, read as the decimal number in the config, never as a binary float (R-TOK-5).
Ratio = Annotated[Decimal, BeforeValidator(_exact), PlainSerializer(_plain)]


def placeholders(*names: str) -> AfterValidator:
    """Return a validator of templates, which must contain each of *names* in braces (R-SUM-4)."""

    def check(template: str) -> str:
        for name in names:
            if f"{{{name}}}" not in template:
                raise ValueError(f"the template must contain {{{name}}}")
        return template

    return AfterValidator(check)


class FieldError(ValueError):
    """Raised by a validator of a whole model: *field* contradicts another field."""

    def __init__(self, field: str, message: str) -> None:
        super().__init__(message)
        self.field = field


class Config(BaseModel):
    """Base of all config models: frozen, strict, without unknown fields."""

    model_config = ConfigDict(frozen=True, extra="forbid", strict=True, validate_default=False)
    #: The fields that are a number of tokens of a request; 0 and below mean another thing.
    budgets: ClassVar[tuple[str, ...]] = ()

    def less(self, tokens: int) -> Self:
        """Return this config for a window beside which a request carries *tokens*."""
        # R-CFG-11
        given = {name: getattr(self, name) for name in self.budgets}
        return self.model_copy(update={name: value - tokens for name, value in given.items() if value > 0})


class WindowConfig(Config):
    """Base of the window strategies' configs."""

    type: str

    @property
    def token_limit(self) -> int | None:
        """The tokens that the window should have at most; None if the strategy does not count tokens."""
        return None


class CompactionConfig(Config):
    """Base of the compaction strategies' configs."""

    type: str
    key: str = Field(default="", pattern=r"^[A-Za-z0-9._:-]{0,128}$")
    on_failure: Literal["fail", "heuristic"] = "fail"

    @property
    def token_limit(self) -> int | None:
        """The tokens above which it acts; None if it does not count tokens."""
        return None

    def model_post_init(self, context: Any, /) -> None:
        """Take the type as key if none is given."""
        if not self.key:
            object.__setattr__(self, "key", self.type)


class SummarizerConfig(Config):
    """The model and prompts of a session; a strategy's own fields win. It has no secrets and no addresses."""

    model: str | None = None
    temperature: Ratio = Field(default=Decimal("0.1"), ge=0, le=2)
    enable_thinking: bool | None = None
    system_prompt: str | None = None
    user_prompt_template: Annotated[str, placeholders("content")] | None = None

    @property
    def parameters(self) -> JsonObject:
        """The parameters of the model, as they are sent and hashed."""
        parameters: JsonObject = {"temperature": float(self.temperature)}
        if self.enable_thinking is not None:
            parameters["chat_template_kwargs"] = {"enable_thinking": self.enable_thinking}
        return parameters


class Material(msgspec.Struct, frozen=True):
    """The sources of a summary: entries, oldest first, and the summaries it folds; *count* counts tokens.

    *opening* is the oldest active user message, only for strategies with `sees_opening`. *room* is how many tokens
    summaries without a model may still take; None without a limit.
    """

    entries: tuple[Entry, ...]
    folded: tuple[Summary, ...] = ()
    target_tokens: int | None = None
    count: Callable[[str], int] = len
    opening: str = ""
    room: int | None = None


class Digest(msgspec.Struct, frozen=True):
    """The result of a strategy: the summary, its passes if there were several, and why they ended."""

    text: str
    passes: tuple[Pass, ...] = ()
    ended: str | None = None


#: Yields requests and is sent the answers, cleaned; `SummarizerFailed` is thrown into it when a call fails.
Summarising: TypeAlias = Generator[SummaryRequest, str, Digest]


def one_call(
    request: "Callable[[Any, SummarizerConfig, Material], SummaryRequest]",
) -> "Callable[[Any, SummarizerConfig, Material], Summarising]":
    """Return the dialogue of a strategy that makes one request and uses the answer."""

    def summarise(config: Any, defaults: SummarizerConfig, material: Material) -> Summarising:
        return Digest((yield request(config, defaults, material)))

    return summarise


class StateView(Protocol):
    """The part of a session's state that strategies may read."""

    @property
    def window(self) -> ActiveEntries: ...
    @property
    def summaries(self) -> LiveSummaries: ...
    @property
    def compactions(self) -> Compactions: ...
    @property
    def items(self) -> Items: ...
    def shown_tokens(self) -> int:
        """Return the tokens of what the session's window strategy shows."""

    def progress_of(self, key: str) -> Any:
        """Return what the strategy with *key* folded; None at first."""


class Recalled(msgspec.Struct, frozen=True):
    """A search hit: an entry with its score, the entries of its interaction, oldest first, and why (R-REC-1)."""

    version: int
    score: float
    interaction: tuple[Entry, ...]
    why: Why | None = None


class Hints(msgspec.Struct, frozen=True):
    """What was retrieved before a window is built: hits, best first, and pieces of knowledge (R-WIN-1).

    *there* has the versions of all entries that were searched, if the searcher knows them.
    """

    recalled: tuple[Recalled, ...] = ()
    there: Container[int] | None = None
    knowledge: tuple[Knowledge, ...] = ()
    knowledge_tokens: int = 0


NO_HINTS = Hints()


class CompactionPlan(msgspec.Struct, frozen=True, kw_only=True):
    """What a compaction would do; planning changes nothing."""

    key: str
    strategy: str
    config: JsonObject
    action: Action
    effect: Effect
    covered: Ranges
    tokens: int
    seen_version: int
    automatic: bool
    reasons: tuple[str, ...]
    folds: tuple[str, ...] = ()
    target_tokens: int | None = None
    block: Block | None = None


StructType: TypeAlias = type[msgspec.Struct]
WindowConfigType: TypeAlias = type[WindowConfig]
CompactionConfigType: TypeAlias = type[CompactionConfig]


class Trigger(msgspec.Struct, frozen=True):
    """Why a plan is requested: after a batch, or by a caller, who may *force* it and say how many tokens to keep."""

    automatic: bool = True
    force: bool = False
    keep_tokens: int | None = None


class WindowStrategy(msgspec.Struct, frozen=True):
    """Chooses what the model is shown: ``window(config, state, hints) -> Window``.

    ``tokens(state)`` are those of the window without hints, if a strategy knows them without building it.
    """

    type: str
    config: WindowConfigType
    window: Callable[[Any, StateView, Hints], Window]
    tokens: Callable[[StateView], int] | None = None


class ProgressFold(msgspec.Struct, frozen=True, kw_only=True):
    """A fold of a strategy's own, stored in the session's state under its key.

    ``advance(config, progress, items, window)`` runs at the end of each batch, with None at first;
    ``complete(progress, payload)`` runs when one of its compactions took effect. Summaries of blocks numbered below
    ``evicts_before(config, progress)`` are dropped, and the oldest of strategies that the config no longer has, so that
    all are at most ``most_summaries(config)``. Items from version ``needs_from(config, progress, items)`` on
    stay in the state; ``goes_on(old_config, new_config)`` tells whether the fold continues after a change of config.
    ``renumbered(progress, of)`` is *progress* after entries got other versions, as an import gives them: *of* maps
    ranges of versions. Without it, a fold starts anew after an import.
    """

    state: StructType
    advance: Callable[[Any, Any, Items, ActiveEntries], Any]
    complete: Callable[[Any, CompactionCompleted], Any]
    evicts_before: Callable[[Any, Any], int]
    most_summaries: Callable[[Any], int]
    needs_from: Callable[[Any, Any, Items], int]
    goes_on: Callable[[Any, Any], bool]
    renumbered: Callable[[Any, Callable[[Ranges], Ranges]], Any] | None = None


class CompactionStrategy(msgspec.Struct, frozen=True, kw_only=True):
    """Plans what leaves the window, and asks a summarizer.

    ``plan(config, state, trigger)`` returns a plan or None; asked manually, it raises `NotEnoughEntries` instead.
    ``summarise(config, defaults, material)`` is the dialogue with a summarizer; a strategy that only erases has none.
    Only a strategy that *sees_opening* gets ``Material.opening``, so that the lineage of its summaries can name that
    entry too. A strategy that *keeps_tokens* uses `Trigger.keep_tokens`. ``is_quiet(config, entries, tokens)`` tells
    that nothing is due while the window has so many entries, and with the summaries so many tokens, whatever they are.
    """

    type: str
    config: CompactionConfigType
    plan: Callable[[Any, StateView, Trigger], CompactionPlan | None]
    summarise: Callable[[Any, SummarizerConfig, Material], Summarising] | None = None
    progress: ProgressFold | None = None
    sees_opening: bool = False
    keeps_tokens: bool = False
    is_quiet: Callable[[Any, int, int], bool] = lambda _config, _entries, _tokens: False
