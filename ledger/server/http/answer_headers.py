"""Headers that say what an answer shows: ``ETag`` and ``Ledger-Index-Age``.

An ETag has the version of a session, a part of its hash, and the view that was served (http W-9, W-64). A version alone
is not enough: after a failover or a restore from a backup, the log may have other events under the same numbers.
"""

import re
from typing import Final

import msgspec
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger.indexes.stored_projections.staleness import collected

#: How old an answer is, on a server that takes no writes.
INDEX_AGE: Final = "Ledger-Index-Age"

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


class IndexAge:
    """Wraps the application; adds ``Ledger-Index-Age`` to an answer from an index that lacks the newest events."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out one request."""
        with collected() as ages:

            async def add_age(message: Message) -> None:
                if ages and message["type"] == "http.response.start":
                    header = (INDEX_AGE.lower().encode("ascii"), "; ".join(ages).encode("ascii"))
                    message = {**message, "headers": [*message["headers"], header]}
                await send(message)

            await self._app(scope, receive, add_age)
