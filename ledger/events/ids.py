"""Ids computed from names: the same in every process, without a look-up (trust R-1, R-6)."""

from functools import lru_cache
from uuid import NAMESPACE_URL, UUID, uuid5

import msgspec

_UNIT_SEPARATOR = "\x1f"  # names cannot contain it (trust N-3), so no two names collide
_CROCKFORD = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
_60_BITS = (1 << 60) - 1
_PAIRS = [first + second for first in _CROCKFORD for second in _CROCKFORD]


class Stream(msgspec.Struct, frozen=True):
    """The place of a session in the store: its three names and the two ids computed from them."""

    namespace: str
    user_id: str
    session_id: str
    namespace_id: UUID
    stream_id: UUID

    @classmethod
    def of(cls, namespace: str, session_id: str, user_id: str | None = None) -> "Stream":
        """Return the stream of a session; None and the empty user id are the same."""
        return _stream(namespace, user_id or "", session_id)


@lru_cache(maxsize=1_024)
def namespace_id(namespace: str) -> UUID:
    """Return the id of *namespace*. Source: trust R-1."""
    return uuid5(NAMESPACE_URL, f"mledger:{namespace}")


@lru_cache(maxsize=4_096)
def stream_id(namespace: UUID, user_id: str, session_id: str) -> UUID:
    """Return the id of a session's stream. Source: trust R-1."""
    return uuid5(namespace, f"{user_id}{_UNIT_SEPARATOR}{session_id}")


@lru_cache(maxsize=4_096)
def _stream(namespace: str, user_id: str, session_id: str) -> Stream:
    own = namespace_id(namespace)
    return Stream(namespace, user_id, session_id, own, stream_id(own, user_id, session_id))


def request_id(stream: UUID, actor: str, idempotency_key: str) -> UUID:
    """Return the id that a client's retry is recognised by. Source: trust R-6."""
    return uuid5(stream, f"{actor}{_UNIT_SEPARATOR}{idempotency_key}")


def ulid(raw: bytes) -> str:
    """Return 16 bytes as the 26 characters of a ULID; bytes of a UUIDv7 give one that sorts by time."""
    value = int.from_bytes(raw, "big")
    high, low, pairs = value >> 60, value & _60_BITS, _PAIRS  # a loop, and larger numbers, take twice as long
    return (
        f"{pairs[high >> 60]}{pairs[high >> 50 & 1023]}{pairs[high >> 40 & 1023]}{pairs[high >> 30 & 1023]}"
        f"{pairs[high >> 20 & 1023]}{pairs[high >> 10 & 1023]}{pairs[high & 1023]}"
        f"{pairs[low >> 50]}{pairs[low >> 40 & 1023]}{pairs[low >> 30 & 1023]}"
        f"{pairs[low >> 20 & 1023]}{pairs[low >> 10 & 1023]}{pairs[low & 1023]}"
    )
