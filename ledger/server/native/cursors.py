"""Opaque cursors of lists: a changed cursor, or one of another list, is refused (http W-64, trust I-42).

A cursor gives no permission: its list checks the caller. Its key is derived from the id of the ledger, so it is
valid in every process and after a restart, but in no other ledger.
"""

import base64
import binascii
import hmac
from hashlib import sha256
from typing import Final
from uuid import UUID

from ledger.errors import InvalidInput
from ledger.events.canonical import canonical_json
from ledger.events.ids import namespace_id
from ledger.ports import Store

_MAC_BYTES: Final = 16
_MOST_CHARACTERS: Final = 512


class Cursors:
    """The cursors of one list; *filters* are all parameters that select its items."""

    def __init__(self, ledger_id: UUID, name: str, namespace: str, filters: dict[str, str | None]) -> None:
        self._key = sha256(b"mledger/cursor/1\n" + ledger_id.bytes).digest()
        self._bound = canonical_json([name, namespace, filters])

    def make(self, place: bytes) -> str:
        """Return the cursor of *place*."""
        return base64.urlsafe_b64encode(self._mac(place) + place).decode().rstrip("=")

    def read(self, cursor: str) -> bytes:
        """Return the place that *cursor* stands for.

        Raises:
            InvalidInput: ``bad_cursor``.
        """
        try:
            raw = base64.b64decode(cursor[:_MOST_CHARACTERS] + "=" * (-len(cursor) % 4), altchars=b"-_", validate=True)
        except (binascii.Error, ValueError):
            raise bad_cursor() from None
        mac, place = raw[:_MAC_BYTES], raw[_MAC_BYTES:]
        # the text is compared too: the last character has bits that are in no byte
        if not hmac.compare_digest(mac, self._mac(place)) or self.make(place) != cursor:
            raise bad_cursor()
        return place

    def _mac(self, place: bytes) -> bytes:
        return hmac.digest(self._key, len(self._bound).to_bytes(4, "big") + self._bound + place, sha256)[:_MAC_BYTES]


async def cursors_of(store: Store, name: str, namespace: str, filters: dict[str, str | None]) -> Cursors | None:
    """Return the cursors of a list in *namespace*; or None if the namespace has no events."""
    info = await store.events.namespace(namespace_id(namespace))
    return None if info is None else Cursors(info.ledger_id, name, namespace, filters)


def bad_cursor() -> InvalidInput:
    """Return the refusal of a cursor that is not of the list."""
    return InvalidInput("bad_cursor", "must be a cursor of this list; start without a cursor", field="cursor")
