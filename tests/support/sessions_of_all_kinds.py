"""Random sessions with every kind of event that a session's fold reads, and content of every kind that counts."""

from collections.abc import Iterable, Sequence
from contextlib import suppress
from random import Random
from typing import Any, Final

from ledger.errors import InvalidInput
from ledger.events import (
    ContextSet,
    EntriesExtracted,
    EntriesReturned,
    EntryAdded,
    MemoryAdded,
    MemoryEdited,
    MemoryFields,
    MemoryPromoted,
    ModelOutput,
    RebuildAnswered,
    RebuildFailed,
    RebuildRequested,
    ReturnedEntry,
)
from ledger.session.commands import AddEntries, ChangeData, EditEntry
from projections.entries import Entry
from projections.log.history import HISTORY
from projections.memory_config import config as memory_config
from tests.support.driver import Driven, Scripted
from tests.support.histories import Step, mixed, some_config, take
from tests.support.interrupted_histories import answer, erase
from tests.support.notation import entry

DATA: Final[Sequence[Any]] = (
    None,
    {"thinking": [{"type": "thinking", "thinking": "well"}]},
    {"reasoning": ["well"]},
    {"reasoning_content": "well"},
    {"thinking": []},
    {"block": {"type": "server_tool_use"}},
    {"block": {"type": "web_search_tool_result"}},
    {"block": {"type": "tool_use"}},
    ["what a program keeps"],
)
METADATA: Final[Sequence[Any]] = (
    None,
    {"end_turn": False},
    {"end_turn": True},
    {"hidden": True},
    {"usage": {"input_tokens": 500, "output_tokens": 4}},
    {"usage": {"input_tokens": 3}},
    {"usage": {"input_tokens": True}},
    {"import_note": {"kind": "window_not_known", "text": "who knows"}},
    {"import_note": {"kind": "rewind", "text": "back"}},
    {"name": "Ada", "source": "a.txt"},
)
TEXTS: Final = ("Error: no such file", " traceback (most recent call last)", "Exceptional weather", "said", "ok")
TAGS: Final = ("u", "u", "a", "a", "a", "c1", "c2", "r1", "r2", "r1", "s", "x", "i", "p", "q")


def some_history(random: Random) -> Driven:
    """Return a session of any length with every kind of event that its fold reads."""
    config = some_config(random)
    for compaction in config["compactions"]:
        compaction["on_failure"] = random.choice(["fail", "heuristic"])
    session = Driven(config, Scripted(mixed))
    for _ in range(random.randint(1, 40)):
        match random.choice(["add"] * 12 + ["edit", "remove", "clear", "import", "answer", "erase", "data", "other"]):
            case "add":
                session.do(AddEntries(tuple(some_entries(random, session))))
                request_or_settle(random, session)
            case "edit":
                edit(random, session)
            case "answer":
                answer(session, random.random())
            case "erase":
                erase(session, random.random())
            case "data":
                removed = random.choice([(), ("a",), ("b", "c")])
                session.do(ChangeData(next(session.ids), {random.choice("de"): random.choice(TEXTS)}, removed))
            case "other":
                session.record(some_others(random, session))
            case "import":  # not of each of these states: some events here are none that a writer makes
                with suppress(InvalidInput):
                    take(session, Step("import"))
            case kind:
                take(session, Step(kind, place=random.random()))
    return session


def request_or_settle(random: Random, session: Driven) -> None:
    if random.random() < 0.5:
        session.settle()
        return
    for number in range(len(session.state.config.compactions)):
        session.request(session.plan(number))


def some_entries(random: Random, session: Driven) -> Iterable[EntryAdded]:
    write_id, first = next(session.ids), len(session.added) + 1
    for number in range(first, first + random.randint(1, 4)):
        fields = {"data": random.choice(DATA), "metadata": random.choice(METADATA), "content": random.choice(TEXTS)}
        if random.random() < 0.5:
            fields = {"content": random.choice(TEXTS)}
        status = random.choice([None, None, "ok", "error"])
        tag = f"{random.choice(TAGS)}"
        item = f"{tag}:{random.randint(0, 200)}" if tag[0] in "cr" else f"{tag}{random.randint(0, 200)}"
        fields |= {"tool_status": status} if tag[0] == "r" else {}
        fields |= {"arguments": {"q": "x"}} if tag[0] == "c" else {}
        yield entry(item, number, write_id=write_id, **fields)


def edit(random: Random, session: Driven) -> None:
    active = session.state.window.entries
    if active:
        chosen, text = random.choice(list(active)), random.choice(TEXTS)
        write_id, entry_id = next(session.ids), chosen.entry_id
        session.do(EditEntry(write_id=write_id, entry_id=entry_id, content=text, tokens=7, tokenizer="caller"))


def some_others(random: Random, session: Driven) -> list[Any]:
    """Return the events of one write that no command here makes."""
    write_id, version = next(session.ids), session.state.version
    fields = MemoryFields(text=random.choice(TEXTS), topics=("t",), metadata={"m": 1})
    known = [memory.version for memory in session.state.working.memories] or [version]
    asked = ModelOutput(request_hash="h", text="text", input_tokens=3, output_tokens=random.randint(0, 9))
    same = {"write_id": write_id}
    found: dict[str, list[Any]] = {
        "memory": [MemoryAdded(**same, memory_id=write_id, fields=fields)],
        "edited": [MemoryEdited(**same, memory_id="m", memory_version=random.choice(known), fields=fields)],
        "promoted": [MemoryPromoted(**same, memory_id="m", memory_version=random.choice(known), record_id="r")],
        "context": [
            ContextSet(
                **same,
                summary_id=write_id,
                text=random.choice(TEXTS),
                tokens=random.randint(1, 30),
                folds=tuple(each.summary_id for each in session.state.summaries.live),
            )
        ],
        "extracted": [EntriesExtracted(**same, covered=((1, version),), strategy="discrete", outputs=(asked,))],
        "rebuild": [
            RebuildRequested(**same, rebuild_id=write_id, config=memory_config.dump(session.state.config)),
            RebuildAnswered(**same, rebuild_id=write_id, until=version, output=asked),
            RebuildFailed(**same, rebuild_id=write_id, reason="error", detail="the model is down"),
        ],
        "returned": [EntriesReturned(**same, entries=tuple(gone_entries(session)))],
    }
    return found[random.choice(sorted(found))]


def gone_entries(session: Driven) -> Iterable[ReturnedEntry]:
    names = Entry.__struct_fields__
    for past in HISTORY.fold(session.events).entries:
        if past.status in {"covered", "erased"}:
            yield ReturnedEntry(**{name: getattr(past, name) for name in names}, erased=past.status == "erased")
