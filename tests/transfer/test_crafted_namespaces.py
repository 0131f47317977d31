"""Whatever an import accepts of a whole namespace, or of a fork, verifies and can be read.

The files are well chained; those of sessions alone are tried in test_crafted_files.py. Source: trust E-12, I-68, I-69.
"""

import json
import random
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

from ledger.application.summarizing.summary_view_use import get_partitions, get_views
from ledger.errors import ImportRefused, InvalidInput
from ledger.events.ids import namespace_id
from ledger.long_term_memory.summary_views.definitions import conditions_of
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from tests.support.crafted_files import Crafted, another, events_of, file_of
from tests.support.rich_namespaces import a_rich_namespace, ledger_for
from tests.transfer.test_crafted_files import changed


@dataclass
class Draft:
    """A file that is being crafted."""

    lines: list[bytes]
    events: list[Crafted]
    header: dict[str, Any]
    trailer: dict[str, Any]

    @staticmethod
    def of(lines: list[bytes]) -> "Draft":
        return Draft(lines, events_of(lines), json.loads(lines[0]), json.loads(lines[-1]))

    def file(self) -> list[bytes]:
        return file_of([json.dumps(self.header).encode() + b"\n", self.lines[-1]], self.events)

    def a_stream(self, dice: random.Random) -> str:
        return str(dice.choice(self.trailer["heads"])["stream_id"])


async def files() -> list[list[bytes]]:
    """Return the file of a whole namespace, and those of three forks, one of them of a fork."""
    async with a_rich_namespace() as ledger:
        whole = [line async for line in ledger.export_file()]
        return [whole, *[[line async for line in ledger.export_file(name)] for name in ("f", "g", "h")]]


def without(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    draft.events.pop(at)


def twice(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    draft.events.insert(to, another(draft.events[at], dice.randrange(1_000)))


def with_its_id(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    draft.events.insert(to, draft.events[at])


def moved(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    draft.events.insert(to, draft.events.pop(at))


def cut(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    del draft.events[at + 1 :]


def in_another_stream(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    draft.events[at] = {**draft.events[at], "stream_id": draft.a_stream(dice)}


def foreign(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    own = another(draft.events[at], dice.randrange(1_000))
    draft.events.insert(to, {**own, "stream_id": draft.a_stream(dice)})


def stream_moved(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    stream = draft.events[at]["stream_id"]
    own = [event for event in draft.events if event["stream_id"] == stream]
    draft.events = [event for event in draft.events if event["stream_id"] != stream]
    draft.events[to:to] = own


def without_stream(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    stream = draft.events[at]["stream_id"]
    draft.events = [event for event in draft.events if event["stream_id"] != stream]


def with_a_field_of_another(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    event = draft.events[at]
    name = dice.choice(sorted(event["payload"]))
    values = [each["payload"][name] for each in draft.events if name in each["payload"]]
    draft.events[at] = {**event, "payload": {**event["payload"], name: dice.choice(values)}}


def with_junk(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    _, draft.events = changed(draft.events, dice)


def with_other_forks(draft: Draft, at: int, to: int, dice: random.Random) -> None:
    forks = draft.header.setdefault("forks", [])
    match dice.randrange(5):
        case 0 if forks:
            forks.pop(dice.randrange(len(forks)))
        case 1 if forks:
            dice.choice(forks)["version"] = dice.randint(1, 20)
        case 2 if forks:
            dice.choice(forks)["parent_id"] = draft.a_stream(dice)
        case 3:
            fork = {"stream_id": draft.a_stream(dice), "parent_id": draft.a_stream(dice), "version": dice.randint(1, 9)}
            forks.append(fork)
        case _:
            draft.header["session"] = draft.a_stream(dice)


Fault = Callable[[Draft, int, int, random.Random], None]
FAULTS: tuple[Fault, ...] = (
    without,
    twice,
    with_its_id,
    moved,
    cut,
    in_another_stream,
    foreign,
    stream_moved,
    without_stream,
    with_a_field_of_another,
    with_junk,
    with_other_forks,
)


def crafted(lines: list[bytes], dice: random.Random) -> tuple[str, Draft]:
    """Return *lines* with one or two faults, and which."""
    draft, told = Draft.of(lines), []
    for _ in range(dice.choice((1, 1, 1, 2))):
        if draft.events:
            at, to = dice.randrange(len(draft.events)), dice.randrange(len(draft.events) + 1)
            fault = dice.choice(FAULTS)
            told.append(f"{at} {draft.events[at]['type']} {fault.__name__} ({to})")
            fault(draft, at, to, dice)
    return ", ".join(told), draft


async def problem_of(lines: list[bytes], store: Store | None = None, name: str = "b") -> str | None:
    """Return what is wrong in the ledger after the import of *lines*; None if they were refused, or all is well."""
    store = store or InMemoryStore()
    async with ledger_for(store, name) as ledger:
        try:
            await ledger.import_file(lambda: lines)
        except (ImportRefused, InvalidInput):
            assert await store.events.overview(namespace_id(name)) is None, "a refused file leaves nothing"
            return None
        report = await ledger.verify()
        if not report.ok:
            return f"{report.verdict}: {report.findings[0].problem}"
        if report.verdict == "EMPTY":
            return None
        for session in await ledger.list_sessions():
            problem = await problem_of_session(ledger, session.session_id, session.user_id)
            if problem is not None:
                return problem
        await read_memory(ledger)
        again = [line async for line in ledger.export_file()]
        async with ledger_for(InMemoryStore(), "c") as other:
            await other.import_file(lambda: again)
        report = await ledger.verify(caches=True)
        return None if report.ok else f"{report.verdict}: {report.findings[0].problem}"


async def problem_of_session(ledger: MemoryLedger, name: str, user: str | None) -> str | None:
    """Return what is wrong with a session once it was read and written in every way."""
    if (await ledger.get_state(name, user_id=user)).compactions.in_flight:
        return f"a compaction of {name} runs that nobody will end"
    await ledger.list_kept(name, "notes", user_id=user)
    for read in (ledger.get_context, ledger.get_history, ledger.get_transcript, ledger.timeline, ledger.get_rebuild):
        await read(name, user_id=user)
    await ledger.what_if(name, {"profile": "rolling"}, user_id=user)
    await ledger.add_user_message(name, "more", user_id=user)
    await ledger.fork(name, f"copy-of-{name}-{user}", user_id=user)
    await ledger.settle()
    stats = await ledger.get_stats(name, user_id=user)
    negative = [field for field in ("total_tokens", "active_tokens", "total_entries") if getattr(stats, field) < 0]
    return f"{negative} are negative" if negative else None


async def read_memory(ledger: MemoryLedger) -> None:
    """Read long-term memory and summary views."""
    for found in (await ledger.long_term.search({"limit": 100})).memories:
        await ledger.long_term.history(found.record.record_id)
    handle = ledger._handle
    for view in (await get_views(handle)).views.values():
        await get_partitions(handle, view)
        conditions_of(view.definition)


async def try_files(count: int, store: Store | None = None) -> None:
    """Try *count* files, each in a namespace of its own: in one *store*, or each in one in memory."""
    found, seed = await files(), secrets.randbits(32)
    print(f"seed {seed}")
    dice = random.Random(seed)
    for lines in found:
        assert await problem_of(lines, store, f"b-{dice.getrandbits(64)}") is None
    for _ in range(count):
        name, draft = crafted(dice.choice(found), dice)
        try:
            file = draft.file()
        except (ImportRefused, AttributeError, TypeError):
            continue  # it cannot even be written
        assert await problem_of(file, store, f"b-{dice.getrandbits(64)}") is None, (seed, name)


async def test_a_crafted_file_of_a_namespace_or_a_fork_that_is_accepted_verifies__I_68() -> None:
    await try_files(60)


@pytest.mark.slow
async def test_2000_crafted_files_of_namespaces_and_forks__I_68() -> None:
    await try_files(2_000)


@pytest.mark.slow
@pytest.mark.postgres
@pytest.mark.timeout(1_800)
async def test_300_crafted_files_of_namespaces_and_forks_on_postgres__I_68(postgres_store: Store) -> None:
    await try_files(300, postgres_store)
