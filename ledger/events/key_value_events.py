"""Events of kept values: opaque to the ledger, outside the window, found by their space and key."""

from typing import Any

from ledger.events.payload_types import Content, Payload

#: Between space and key in an item id. Neither a space nor the id of an entry or a memory contains it.
SEPARATOR = "/"
#: The space whose keys are the ids of runs of agents: a session with such a key is found by the run.
RUNS = "runs"


def kept_item(space: str, key: str) -> str:
    """Return the item id of a kept value."""
    return f"{space}{SEPARATOR}{key}"


class _AboutKept(Payload, frozen=True):
    """Base of events about one kept value."""

    space: str
    key: str

    @property
    def item_id(self) -> str:
        """The space and the key, which an index of the store puts in order."""
        return kept_item(self.space, self.key)


class KeptSet(_AboutKept, frozen=True):
    """A value was stored under a key: JSON in *value*, or bytes in *content* with their SHA-256 (hex) in *digest*.

    Readers take the newest; the older ones stay in the log.
    """

    type = "kept.set"
    value: Content[Any] = None
    content: Content[bytes | None] = None
    digest: Content[str | None] = None


class KeptRemoved(_AboutKept, frozen=True):
    """A value was hidden from readers; it stays readable at earlier versions."""

    type = "kept.removed"
