"""Events that are stored without being read back first, as a careless writer would."""

from ledger.events import Event
from ledger.events.codec import NO_CONTENT, SALTED
from ledger.events.content_split import split


def encode_unchecked(event: Event, salt: bytes) -> tuple[int, bytes, bytes | None]:
    """Return what `encode` does, of any event."""
    structure, content = split(event)
    return (NO_CONTENT, structure, None) if content is None else (SALTED, structure, salt + content)
