"""What holds for every sample file: nothing is doubled or dropped. Source: adapters IN-1, IN-2, IN-15."""

import json
from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any, NamedTuple

import pytest

from ledger.formats.importers import IMPORTERS, TranscriptFile, documents, read
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.importer_samples import SAMPLES, leaves
from tests.support.ledgers import ledger_over


class Sample(NamedTuple):
    name: str
    data: bytes

    @property
    def values(self) -> list[Any]:
        """The JSON of its lines, or of the whole."""
        if not self.name.endswith(".jsonl"):
            return [json.loads(self.data)]
        return [json.loads(line) for line in self.data.splitlines() if line.strip()]

    @property
    def format(self) -> str:
        (found,) = {one.format for one in read(documents(self.data), name="file")}
        return found


FILES = [Sample(path.name, path.read_bytes()) for path in sorted(SAMPLES.iterdir()) if path.name != "README.md"]


def each(*, beside: tuple[str, ...] = ()) -> pytest.MarkDecorator:
    """Run a test on every sample but those whose names begin like one of *beside*."""
    samples = [sample for sample in FILES if not sample.name.startswith(beside)]
    return pytest.mark.parametrize("sample", samples, ids=[sample.name for sample in samples])


#: Texts that say which kind of entry a part is, as the kind of the entry does.
SHAPES = {
    *("function", "function_call", "function_call_output", "message", "text", "thinking", "tool_use", "tool_result"),
    *("response_item", "input_text", "output_text", "gemini", "human", "HumanMessage", "SystemMessage"),
}
#: Fields that become something else, such as a status; a backtest reads questions.
BECOME = {"is_error", "questions", "meta", "success"}


def test_every_importer_has_samples_of_three_shapes__IN_15() -> None:
    counted = Counter(sample.format for sample in FILES)
    few = {importer.name: counted[importer.name] for importer in IMPORTERS if counted[importer.name] < 3}
    assert few == {}, "put three files of each, of different shapes, into tests/importers/samples"


async def imported(ledger: MemoryLedger, data: bytes) -> Any:
    return await ledger.import_conversations(TranscriptFile(lambda: iter(data.splitlines(keepends=True)), name="file"))


async def contents(ledger: MemoryLedger) -> dict[str, list[Any]]:
    """Return what each entry said that a session ever had."""
    return {
        session.session_id: [
            (entry.kind, entry.role, entry.content, entry.data, entry.metadata)
            for entry in (await ledger.get_history(session.session_id)).entries
        ]
        for session in await ledger.list_sessions()
    }


@each()
async def test_a_file_imported_again_adds_nothing__IN_2(sample: Sample) -> None:
    ledger = ledger_over(InMemoryStore())
    first = await imported(ledger, sample.data)
    before = await contents(ledger)
    again = await imported(ledger, sample.data)
    assert first.entries > 0
    assert again.entries == 0
    assert await contents(ledger) == before
    assert (await ledger.verify()).ok


# calls repeat each other, or messages are a tree: test_otlp_files.py, test_traced_runs.py, test_chat_exports.py
@each(beside=("otlp_", "langfuse_", "langsmith_", "chat_export_"))
async def test_a_file_that_grew_adds_the_rest__IN_2(sample: Sample) -> None:
    whole, growing = ledger_over(InMemoryStore()), ledger_over(InMemoryStore())
    await imported(whole, sample.data)
    first = await imported(growing, before_it_grew(sample))
    assert (await imported(growing, sample.data)).entries > 0
    assert first.entries > 0
    assert await contents(growing) == await contents(whole)


def before_it_grew(sample: Sample) -> bytes:
    """Return a file without its last line, or without the last of its longest list."""
    lines = sample.data.splitlines(keepends=True)
    if sample.name.endswith(".jsonl") and len(lines) > 1:
        return b"".join(lines[:-1])
    value = json.loads(b"".join(lines))
    max(lists_of(value), key=len).pop()
    return json.dumps(value).encode()


def lists_of(value: Any) -> Iterator[list[Any]]:
    if isinstance(value, list) and all(isinstance(item, dict) for item in value):
        yield value
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from lists_of(inner)


@each(beside=("otlp_",))  # values are wrapped there, and spans nested: test_otlp_files.py
async def test_nothing_in_a_file_is_dropped__IN_1(sample: Sample) -> None:
    ledger = ledger_over(InMemoryStore())
    await imported(ledger, sample.data)
    assert missing(sample, await everything(ledger)) == []


async def test_a_field_that_an_importer_drops_is_seen() -> None:
    (sample,) = (one for one in FILES if one.name == "codex_tools.jsonl")
    ledger = ledger_over(InMemoryStore())
    await imported(ledger, sample.data.replace(b"gpt-5.1-codex", b"").replace(b"960", b"0"))
    assert set(missing(sample, await everything(ledger))) == {"gpt-5.1-codex", 960}


async def everything(ledger: MemoryLedger) -> list[Any]:
    """Return all values in the events of a ledger."""
    return [
        leaf
        for session in await ledger.list_sessions()
        for event in (await ledger.get_log(session.session_id, limit=1_000)).events
        for leaf in leaves([session.session_id, event.payload])
    ]


def missing(sample: Sample, there: list[Any]) -> list[Any]:
    """Return the values of a file that are not *there*."""
    texts = "\n".join(str(leaf) for leaf in there)

    def is_there(leaf: Any) -> bool:
        return leaf in texts if isinstance(leaf, str) else leaf in there

    found = [leaf for leaf in leaves([_known(value) for value in sample.values]) if not is_there(leaf)]
    return [leaf for leaf in found if not all(map(is_there, leaves(_parsed(leaf))))]


def _known(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _known(item) for key, item in value.items() if key not in BECOME}
    if isinstance(value, list):
        return [_known(item) for item in value]
    return None if isinstance(value, str) and value in SHAPES else value


def _parsed(leaf: Any) -> Any:
    """Return JSON that was a text in the file and is a value in the ledger."""
    try:
        return json.loads(leaf) if isinstance(leaf, str) else leaf
    except ValueError:
        return leaf


@each()
async def test_times_survive__IN_2(sample: Sample) -> None:
    ledger = ledger_over(InMemoryStore())
    await imported(ledger, sample.data)
    times = {
        entry.created_at
        for session in await ledger.list_sessions()
        for entry in (await ledger.get_history(session.session_id)).entries
    }
    asked = {datetime.fromisoformat(text) for text in timestamps(sample.values) if text.endswith("Z")}
    assert asked <= times


def timestamps(value: Any) -> Iterator[str]:
    """Yield what is named a timestamp of a message or a line."""
    for inner in value if isinstance(value, list) else [value]:
        if isinstance(inner, dict):
            if isinstance(inner.get("timestamp"), str) and ("type" in inner or "message" in inner):
                yield inner["timestamp"]
            yield from timestamps(inner.get("messages") or [])
