"""Given these entries, when this is asked, then these events follow: sessions decided and folded without I/O."""

from itertools import count
from uuid import UUID

from ledger.errors import LedgerError
from ledger.events import EntryAdded, Event, RecordedEvent
from ledger.session.commands import AddEntries, Command, OpenSession
from ledger.session.decide import decide
from ledger.session.evolve import SESSION
from projections.memory_config import config
from tests.support.notation import batches, entry

START_US = 1_704_067_200_000_000  # 2024-01-01T00:00:00Z; an event each second


class Session:
    """A session after its first event; entries are named ``e1``, ``e2``, … in the order they come."""

    def __init__(self, settings: dict | None = None) -> None:
        self.state, self.events, self.added, self.ids = SESSION.initial, [], [], map("id{}".format, count(1))
        begin = config.load(settings or {})
        self.do(OpenSession(write_id="", namespace="space", user_id="", session_id="session", config=begin))

    def do(self, command: Command) -> list[Event]:
        return self.record(decide(self.state, command))

    def record(self, payloads: list[Event]) -> list[Event]:
        """Append events as they are, whatever may be decided."""
        for version, payload in enumerate(payloads, len(self.events) + 1):
            us = START_US + version * 1_000_000
            self.events.append(RecordedEvent(version, version, UUID(int=version), us, us, "", payload))
            self.added += [version] if isinstance(payload, EntryAdded) else []
            self.state = SESSION.evolve(self.state, self.events[-1])
        return payloads

    def add(self, notation: str, tokens: int = 10, **fields) -> "Session":
        for items in batches(notation):
            write_id, first = next(self.ids), len(self.added) + 1
            token = (entry(item, n, write_id=write_id, tokens=tokens, **fields) for n, item in enumerate(items, first))
            self.do(AddEntries(tuple(token)))
        return self

    def when(self, command: Command) -> "Session":
        self.refused = None
        try:
            self.caused = self.do(command)
        except LedgerError as refused:
            self.refused = refused
        return self

    def then(self, *types: type[Event]) -> "Session":
        assert (self.refused, [type(event) for event in self.caused]) == (None, list(types))
        return self

    def refuses(self, error: type[LedgerError]) -> None:
        assert type(self.refused) is error


def given(settings: dict | None = None, notation: str = "", tokens: int = 10) -> Session:
    return Session(settings).add(notation, tokens)
