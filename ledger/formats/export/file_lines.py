"""The three kinds of lines in an export file."""

from typing import Annotated, Final, TypeAlias
from uuid import UUID

import msgspec

FORMAT: Final = "memory-ledger"
FORMAT_VERSION: Final = 2

#: The bounds of the log's columns: numbers from 1, and times that a datetime can hold.
Number: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**63 - 1)]
Small: TypeAlias = Annotated[int, msgspec.Meta(ge=1, le=2**15 - 1)]
Codec: TypeAlias = Annotated[int, msgspec.Meta(ge=0, le=2**15 - 1)]
Microseconds: TypeAlias = Annotated[int, msgspec.Meta(ge=-62_135_596_800_000_000, le=253_402_300_799_999_999)]


class ForkOrigin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a stream was forked."""

    stream_id: UUID
    parent_id: UUID
    version: Number


class Header(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """First line of a file; *session* is the exported stream if the file also has events of its parents."""

    format: str
    format_version: int
    ledger_id: UUID
    namespace: str
    forks: tuple[ForkOrigin, ...] = ()
    session: UUID | None = None

    @property
    def parents(self) -> dict[UUID, tuple[UUID, int]]:
        """The parent of each fork, and the version where it was forked."""
        return {fork.stream_id: (fork.parent_id, fork.version) for fork in self.forks}


class Head(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where a stream ends in the file."""

    stream_id: UUID
    user_id: str
    session_id: str
    version: int
    hash: str


class Trailer(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Last line of a file."""

    events: int
    sha256: str
    heads: tuple[Head, ...]


class EventLine(msgspec.Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """One event, with every hashed field; hashes as hex, structure and content as base64."""

    position: Number
    stream_id: UUID
    version: Number
    event_id: UUID
    type: str
    schema_version: Small
    codec: Codec
    occurred_us: Microseconds
    recorded_us: Microseconds
    actor: str
    hash: str
    structure: str
    content_digest: str | None = None
    content: str | None = None
    item_id: str | None = None
    key_id: UUID | None = None
    key_commitment: str | None = None
