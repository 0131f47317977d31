"""What the strategies of seed 002 share: a limit in tokens, and kinds that are preserved. Source: R-002-1, R-CFG-8."""

from collections.abc import Iterable
from decimal import Decimal
from fractions import Fraction
from typing import Annotated, ClassVar, Final, TypeAlias, get_args

from pydantic import AfterValidator, Field

from ledger.events import Kind
from projections.entries import Entry
from projections.strategies.base import Config, Ratio
from projections.summaries import Summary

#: Names of the seed that are not kinds here.
_SEED: Final = {"user_prompt", "tool_use", "summary"}
KINDS: Final = _SEED | set(get_args(Kind))


def _known(name: str) -> str:
    if name not in KINDS:
        raise ValueError(f"{name!r} is not a kind; use one of {', '.join(sorted(KINDS))}")
    return name


Preserve: TypeAlias = Annotated[tuple[Annotated[str, AfterValidator(_known)], ...], Field(strict=False)]
ALWAYS: Final = ("system_instruction", "user_prompt", "summary")


class TriggerLimit(Config):
    """A budget, and the share of it above which a strategy acts."""

    budgets: ClassVar[tuple[str, ...]] = ("max_tokens",)
    max_tokens: int = Field(default=1024, ge=1)
    compression_threshold: Ratio = Field(default=Decimal("0.8"), gt=0, le=1)

    @property
    def limit(self) -> Fraction:
        """Tokens above which the window is near its limit."""
        return self.max_tokens * Fraction(self.compression_threshold)

    @property
    def token_limit(self) -> int:
        """The tokens above which a strategy acts."""
        return int(self.limit)

    def is_near(self, tokens: int) -> bool:
        """Tell whether *tokens* are more than the limit."""
        return tokens > self.limit


def is_preserved(item: Entry | Summary, preserve: Iterable[str]) -> bool:
    """Tell whether *item* is of a kind in *preserve*. Source: R-CFG-8."""
    return not names_of(item).isdisjoint(preserve)


def names_of(item: Entry | Summary) -> set[str]:
    """Return the names under which *item* may be preserved.

    A system message counts as a system instruction, a user message as a user prompt.
    """
    if isinstance(item, Summary):
        return {"summary"}
    names: set[str] = {item.kind}
    if item.starts_interaction:
        names.add("user_prompt")
    if item.kind == "tool_call":
        names.add("tool_use")
    if item.pinned:
        names.add("system_instruction")
    return names
