"""The base of all payloads, plain types, and times as microseconds."""

from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, ClassVar, Final, Literal, TypeAlias, TypeVar

import msgspec

T = TypeVar("T")

#: Marks a field as content: what somebody said, or what was made of it. All others are structure, which folds and
#: proofs need and which is never erased (trust D-3).
CONTENT: Final = msgspec.Meta(extra={"content": True})
#: A field that is content.
Content: TypeAlias = Annotated[T, CONTENT]

JsonObject: TypeAlias = dict[str, Any]

#: Inclusive pairs of versions, ascending and apart: ``((1, 90), (93, 93))``.
Ranges: TypeAlias = tuple[tuple[int, int], ...]

Kind: TypeAlias = Literal[
    "message", "tool_call", "tool_result", "context", "system_instruction", "step_prompt", "step_result"
]
Role: TypeAlias = Literal["user", "assistant", "system", "tool"]
ToolStatus: TypeAlias = Literal["ok", "error"]
Action: TypeAlias = Literal["summarize", "erase"]
Effect: TypeAlias = Literal["replace", "overlay", "erase"]
Method: TypeAlias = Literal["llm", "callback", "heuristic", "imported"]
DiscardReason: TypeAlias = Literal["cleared", "covered", "erased", "changed", "evicted"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def to_datetime(microseconds: int) -> datetime:
    """Return the UTC moment *microseconds* after 1970."""
    return _EPOCH + timedelta(microseconds=microseconds)


def to_microseconds(moment: datetime) -> int:
    """Return microseconds since 1970 of an aware *moment*, exactly."""
    return (moment - _EPOCH) // _MICROSECOND


class Payload(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True, gc=False):
    """Base of all payloads; all events of one batch have the same ``write_id``."""

    type: ClassVar[str]
    schema_version: ClassVar[int] = 1
    write_id: str

    @property
    def item_id(self) -> str | None:
        """The id of the entry the event is about, for the store's index; None for other events."""
        return None


class PayloadPart(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """Base of the structs inside payloads."""
