"""What the writer of a body is known to have seen. Source: http W-52, W-55."""

from hashlib import sha256
from typing import TypeAlias

import msgspec

from ledger.canonical import canonical_json
from ledger.events import Ranges
from ledger.session.state import SessionState


class ServedView(msgspec.Struct, frozen=True):
    """A view that was served with messages left out: at which version, its first message's, and the others'."""

    version: int
    first: int
    left_out: Ranges

    @property
    def key(self) -> str:
        """What tells it from other views of its session: the last part of its ETag (http W-9)."""
        return sha256(canonical_json([self.version, self.first, self.left_out])).hexdigest()[:16]


class Strict(msgspec.Struct, frozen=True):
    """The body is the whole new state; only what the named view left out stays."""

    left_out: Ranges = ()


class Marked(msgspec.Struct, frozen=True):
    """The body carries the stamp of a version: its writer saw *then*."""

    then: SessionState


class Unmarked(msgspec.Struct, frozen=True):
    """Nothing proves what the writer saw."""


Seen: TypeAlias = Strict | Marked | Unmarked
