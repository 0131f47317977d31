"""How many requests there are at once: in all, and of each caller. Source: trust S-7.

A request is of one kind at a time. While its body arrives it does not take a place from those that are worked on, and
neither does a stream that has begun. Probes of health have places of their own.
"""

from collections import Counter
from types import TracebackType
from typing import Final, Literal, Self, TypeAlias

from ledger.errors import RateLimited, Unavailable
from ledger.server.notifier import MOST_LISTENERS
from ledger.server.service_settings import ServiceSettings

SlotKind: TypeAlias = Literal["probe", "arriving", "working", "stream"]

#: The key in a request's scope under which its `Slot` is found.
SLOT: Final = "ledger.slot"
#: The key that marks a request on the management port, which everybody may ask.
MANAGEMENT: Final = "ledger.management"
MOST_PROBES: Final = 16
#: The paths that probes and scrapers ask for.
PROBES: Final = frozenset({"/v1/health", "/healthz", "/readyz", "/metrics"})
_WORDS: Final = {"probe": "probes", "arriving": "bodies", "working": "requests", "stream": "streams"}


class Slots:
    """The places of one application. One caller gets at most half of those of a kind."""

    def __init__(self, settings: ServiceSettings) -> None:
        most = settings.max_concurrency
        self._most = {"probe": MOST_PROBES, "arriving": most, "working": most, "stream": MOST_LISTENERS}
        self._taken: Counter[tuple[SlotKind, str]] = Counter()

    def take(self, kind: SlotKind, key: str = "") -> None:
        """Take a place for a request of the caller *key*, or of nobody known yet.

        Raises:
            Unavailable: there is none.
            RateLimited: the caller has too many.
        """
        if self._taken[kind, ""] >= self._most[kind]:
            raise Unavailable("the service is busy; try again")
        if key:
            self.take_of(kind, key)
        self._taken[kind, ""] += 1

    def take_of(self, kind: SlotKind, key: str) -> None:
        """Count a place that was already taken for the caller *key*.

        Raises:
            RateLimited: the caller has too many.
        """
        if self._taken[kind, key] >= max(1, self._most[kind] // 2):
            raise RateLimited(1, f"{_WORDS[kind]} at once")
        self._taken[kind, key] += 1

    def give_back(self, kind: SlotKind, key: str) -> None:
        """Give back a place, of the caller *key* if it was known."""
        for each in {"", key}:
            self._taken[kind, each] -= 1
            if not self._taken[kind, each]:
                del self._taken[kind, each]


class Slot:
    """The place of one request, while its context is open."""

    def __init__(self, slots: Slots, kind: SlotKind) -> None:
        self.kind: SlotKind = kind
        self._slots = slots
        self._key = ""

    def __enter__(self) -> Self:
        """Take the place; see `Slots.take`."""
        self._slots.take(self.kind)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """Give it back."""
        self._slots.give_back(self.kind, self._key)

    def assign(self, key: str) -> None:
        """Count the place for the caller *key*, who is now known; see `Slots.take_of`."""
        if not self._key and self.kind != "probe":
            self._slots.take_of(self.kind, key)
            self._key = key

    def move(self, kind: SlotKind) -> None:
        """Take a place of another kind instead; see `Slots.take`."""
        if kind != self.kind:
            self._slots.take(kind, self._key)
            self._slots.give_back(self.kind, self._key)
            self.kind = kind
