"""ETags: the version of a session, a part of its hash, and the view that was served (http W-9, W-64).

A version alone is not enough: after a failover or a restore from a backup, the log may have other events under the
same numbers.
"""

import re
from typing import Final

import msgspec

#: 64 bits of the hash, in hexadecimal digits.
_DIGITS: Final = 16
_ETAG: Final = re.compile(r'"(\d{1,18})-([0-9a-f]{16})(?:\.([0-9a-f]{16}))?"')


class ETag(msgspec.Struct, frozen=True):
    """What an answer shows: a version of a session, the event there, and the key of a view that left messages out."""

    version: int
    event: str
    view: str | None = None

    @classmethod
    def of(cls, version: int, digest: bytes, view: str | None = None) -> "ETag":
        """Return the ETag of *version*, whose event has the hash *digest*."""
        return cls(version, digest.hex()[:_DIGITS], view)

    @classmethod
    def parse(cls, text: str) -> "ETag | None":
        """Return the ETag that *text* is; None if it is none of ours, or a weak one, which matches no write."""
        found = _ETAG.fullmatch(text.strip())
        return None if found is None else cls(int(found[1]), found[2], found[3])

    def __str__(self) -> str:
        view = "" if self.view is None else f".{self.view}"
        return f'"{self.version}-{self.event}{view}"'
