"""A file is recorded while it is read: whatever its length, little of it is in memory."""

import json
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import pytest

from ledger.errors import ImportRefused, SessionExists
from ledger.formats.importers import TranscriptFile, documents, read
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store
from ledger.stores.in_memory import InMemoryStore
from tests.faults.intercepted_store import InterceptedStore

Content = Callable[[int], bytes]


def message(number: int) -> bytes:
    return b'{"role": "user", "content": "message %d"}\n' % number


def run(number: int) -> bytes:
    return json.dumps({"messages": [{"role": "user", "content": f"{number}"}] * 2}).encode() + b"\n"


class Reading:
    """A file whose lines are made as they are read."""

    def __init__(self, lines: int, content: Content = message) -> None:
        self.content, self.count, self.read = content, lines, 0

    def __call__(self) -> Iterator[bytes]:
        for number in range(self.count):
            self.read = number + 1
            yield self.content(number)


class Watching(InterceptedStore):
    """Stores nothing, and notes how far a file was read at each request."""

    def __init__(self, file: Reading) -> None:
        super().__init__(InMemoryStore())
        self.file, self.progress = file, list[tuple[int, int]]()

    async def intercept(self, name: str, method: Callable[..., Any], *args: Any, **options: Any) -> Any:
        if name != "append_all":
            return await method(*args, **options)
        requests: Iterable[AppendRequest] = args[0]
        events = 0
        for request in requests:
            events += len(request.writes[0].events)
            self.progress.append((self.file.read, events))
        return events


async def most_ahead(file: Reading, found: Any, entries_a_line: int) -> int:
    """Return how many entries of *file* were read at most before they were handed to the store."""
    store = Watching(file)
    async with MemoryLedger.open(namespace="streaming", store=store) as ledger:
        await ledger.import_conversations(found)
    return max(lines * entries_a_line - events for lines, events in store.progress)


@pytest.mark.parametrize(("content", "entries"), [(message, 1), (run, 2)])
async def test_no_more_than_a_request_is_read_ahead(content: Content, entries: int) -> None:
    file = Reading(3_000, content)
    assert await most_ahead(file, TranscriptFile(file, name="chat"), entries) <= 500


async def test_a_file_that_is_read_whole_before_it_is_recorded_is_noticed() -> None:
    """Negative control."""
    file = Reading(3_000)
    assert await most_ahead(file, read(documents(file()), name="chat"), 1) >= 2_500


async def test_a_long_transcript_is_recorded_once(store: Store, namespace: str) -> None:
    async with MemoryLedger.open(namespace=namespace, store=store, config={"profile": "none"}) as ledger:
        first = await ledger.import_conversations(TranscriptFile(Reading(1_700), name="chat"))
        assert (first.sessions, first.entries, first.skipped, first.session_ids) == (1, 1_700, 0, ("chat",))
        state = await ledger.get_state("chat")
        assert [entry.content for entry in state.window.entries] == [f"message {number}" for number in range(1_700)]
        again = await ledger.import_conversations(TranscriptFile(Reading(1_700), name="chat"))
        assert (again.entries, again.skipped) == (0, 1_700)
        assert (await ledger.get_state("chat")).version == state.version
        longer = await ledger.import_conversations(TranscriptFile(Reading(2_300), name="chat"))
        assert (longer.entries, longer.skipped) == (600, 1_700)
        other = TranscriptFile(Reading(3, lambda number: message(number + 1)), name="chat")
        with pytest.raises(SessionExists):
            await ledger.import_conversations(other)
        assert (await ledger.verify()).ok


async def test_a_transcript_grows_whose_entries_are_not_in_memory(
    ledger: MemoryLedger, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The state of a session holds little content, and reads the rest of it from the log."""
    monkeypatch.setattr(ledger._handle.services.states._contents, "_limit_b", 0)
    for count in (300, 301):
        await ledger.import_conversations(TranscriptFile(Reading(count), name="chat"))
        assert len(await ledger.get_active_entries("chat")) == count


async def test_a_transcript_is_recorded_as_its_documents_are(ledger: MemoryLedger) -> None:
    content = b"".join(Reading(700, run)()) + json.dumps([{"role": "user", "content": "x"}]).encode()
    streamed = await ledger.import_conversations(TranscriptFile(lambda: content.splitlines(True), name="chat"))
    known = await ledger.import_conversations(read(documents(content), name="chat"))
    assert (known.entries, known.skipped) == (0, streamed.entries)
    assert streamed.session_ids == known.session_ids


async def test_nothing_is_stored_of_a_transcript_with_a_bad_line(store: Store, namespace: str) -> None:
    for content in (message, run):
        bad = Reading(1_500, lambda number, content=content: b"{]\n" if number == 1_200 else content(number))
        async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
            with pytest.raises(ImportRefused) as refused:
                await ledger.import_conversations(TranscriptFile(bad, name="chat"))
            assert refused.value.line == 1_201
            assert await ledger.list_sessions() == []
            assert (await ledger.verify()).checked == 0


async def test_a_transcript_that_changes_while_it_is_read_is_refused(ledger: MemoryLedger) -> None:
    first = list(Reading(3, run)())
    for later in (first[:2], [b'{"session_id": "x", "messages": [{"role": "user", "content": "0"}]}', *first[1:]]):
        readings = iter([first, later])
        with pytest.raises(ImportRefused, match="changed while it was read"):
            await ledger.import_conversations(TranscriptFile(lambda readings=readings: next(readings), name="chat"))
        assert await ledger.list_sessions() == []


async def test_entries_of_a_new_session_are_counted_as_its_config_says() -> None:
    config = {"profile": "none", "tokenizer": "approximate"}
    async with MemoryLedger.open(namespace="counted", store=InMemoryStore(), config=config) as ledger:
        await ledger.import_conversations(TranscriptFile(Reading(1), name="chat"))
        (entry,) = await ledger.get_active_entries("chat")
        assert (entry.tokenizer, entry.tokens) == ("approximate", 3)
