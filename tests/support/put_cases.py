"""A session that is written by PUTs, without I/O: what clients see, send, and leave."""

import itertools
from collections.abc import Callable
from uuid import UUID

from msgspec.structs import replace

from ledger.events import (
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    Event,
    MemoryAdded,
    MemoryEdited,
    MemoryRemoved,
    RecordedEvent,
)
from ledger.session.commands import OpenSession
from ledger.session.decide import decide
from ledger.session.evolve import SESSION
from ledger.session.merge.merging import ids_to_look_up
from ledger.session.merge.put_command import (
    Blind,
    Body,
    BodyMessage,
    Evidence,
    PriorItems,
    PutSession,
    StoredItem,
    ThreeWay,
    TokenCount,
)
from ledger.session.state import SessionState
from projections.memory_config import config
from projections.working_memory import ServedView

CONFIG = config.load({"profile": "working_memory"})


def message(text: str, name: str | None = None, role: str = "user") -> BodyMessage:
    return BodyMessage(role=role, content=text, id=name)


def messages(names: str) -> tuple[BodyMessage, ...]:
    """Return messages whose ids are the words of *names*; ``a=text`` says another text than ``text of a``."""
    created = []
    for word in names.split():
        name, _, text = word.partition("=")
        created.append(message(text or f"text of {name}", name))
    return tuple(created)


def count_words(role: str | None, text: str) -> TokenCount:
    return TokenCount(len(text.split()) + 2, "words")


class Written:
    """A session and its log; every PUT is a write of its own."""

    def __init__(self, count: Callable[[str | None, str], TokenCount] = count_words) -> None:
        self.count = count
        self.state: SessionState = SESSION.initial
        self.log: list[RecordedEvent] = []
        self.states: dict[int, SessionState] = {0: self.state}
        self.ids = (f"new{number}" for number in itertools.count(1))
        self.writes = (f"w{number}" for number in itertools.count(1))

    def record(self, events: list[Event]) -> list[Event]:
        for event in events:
            version = len(self.log) + 1
            us = version * 1_000_000
            self.log.append(RecordedEvent(version, version, UUID(int=version), us, us, "", event))
            self.state = SESSION.evolve(self.state, self.log[-1])
            self.states[version] = self.state
        return events

    def put(
        self, names: str | Body = "", seen: Evidence | int | None = None, views: tuple[ServedView, ...] = (), **fields
    ):
        """Put a body; *seen* is a version whose state the writer saw, other evidence, or none.

        It is decided twice, which gives equal events.
        """
        body = names if isinstance(names, Body) else Body(messages=messages(names), **fields)
        evidence = ThreeWay(self.states[seen]) if isinstance(seen, int) else seen or Blind()
        write_id = next(self.writes)
        opening = None
        if not self.state.opened:
            (opening,) = decide(
                SessionState(),
                OpenSession(write_id=write_id, namespace="n", user_id="", session_id="s", config=CONFIG),
            )
        command = PutSession(
            write_id=write_id,
            body=body,
            evidence=evidence,
            count=self.count,
            new_ids=tuple(next(self.ids) for _ in range(body.ids_needed)),
            prior=self.prior(body),
            views=views,
            opening=opening,
        )
        events = decide(self.state, command)
        assert decide(self.state, command) == events, "deciding is not pure"
        return self.record(events)

    def prior(self, body: Body) -> PriorItems:
        """Do what the shell does with an index: return what became of items under these ids."""
        wanted, stored = ids_to_look_up(self.state, body)
        entries: dict[str, StoredItem] = {}
        memories: dict[str, StoredItem] = {}
        for event in self.log:
            match event.payload:
                case EntryAdded() as item if item.entry_id in wanted:
                    active = self.state.window.at(event.version) is not None
                    removed = "cleared" if event.version <= self.state.cleared_version else "covered"
                    earlier = entries.get(item.entry_id)
                    entries[item.entry_id] = StoredItem(
                        item_id=item.entry_id,
                        status="active" if active else removed,
                        version=event.version,
                        write_id=item.write_id,
                        value=(item.role, item.content),
                        earlier=(*earlier.earlier, earlier.value) if earlier else (),
                        listed=item.listed,
                        event=item,
                    )
                case EntryEdited(entry_id=name, content=content, role=role) if name in entries:
                    old = entries[name]
                    entries[name] = replace(
                        old, value=(role or old.value[0], content), earlier=(*old.earlier, old.value)
                    )
                case EntryRemoved(entry_id=name) if name in entries:
                    entries[name] = replace(entries[name], status="removed")
                case MemoryAdded(memory_id=name) as item if name in stored:
                    active = any(each.version == event.version for each in self.state.working.memories)
                    memories[name] = StoredItem(
                        item_id=name,
                        status="active" if active else "covered",
                        version=event.version,
                        write_id=item.write_id,
                        value=(item.fields.text, item.fields.memory_type),
                        listed=item.listed,
                        event=item,
                    )
                case MemoryEdited(memory_id=name, fields=fields) if name in memories:
                    old = memories[name]
                    memories[name] = replace(
                        old,
                        value=(fields.text, fields.memory_type),
                        earlier=(*old.earlier, old.value),
                        event=replace(old.event, fields=fields),
                    )
                case MemoryRemoved(memory_id=name) if name in memories:
                    memories[name] = replace(memories[name], status="removed")
                case _:
                    pass
        return PriorItems(entries, memories)

    @property
    def version(self) -> int:
        return self.state.version

    @property
    def names(self) -> str:
        return " ".join(entry.entry_id for entry in self.state.window.entries)

    @property
    def texts(self) -> list[str]:
        return [entry.content for entry in self.state.window.entries]
