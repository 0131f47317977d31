"""Files of traces are imported in flat memory, whatever the order of their lines. Source: adapters IN-3."""

import tracemalloc
from pathlib import Path
from typing import Any

import pytest

from ledger.formats.importers import TranscriptFile
from ledger.formats.importers.elements import spool
from ledger.formats.importers.elements.steps import batches_of, is_hidden
from ledger.formats.importers.opentelemetry import call_histories
from tests.support.trace_files import LINES, TURNS, name_of, text_of, write_traces

MEGABYTE = 1024 * 1024
SIZE = MEGABYTE
#: How much more a file of twice the size may need: ids and order.
MORE = SIZE // 4

each_format = pytest.mark.parametrize("format_", LINES)


class Held:
    """A spool that has no file."""

    def __init__(self) -> None:
        self._values: list[Any] = []

    def __enter__(self) -> "Held":
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def put(self, value: object) -> int:
        self._values.append(value)
        return len(self._values) - 1

    def get(self, place: int) -> Any:
        return self._values[place]


def peak(path: Path) -> int:
    """Return the most bytes that were held while *path* was read."""
    with path.open("rb") as file:
        tracemalloc.start()
        try:
            for conversation in TranscriptFile(lambda: file, name="file"):
                for _ in conversation.steps:
                    pass
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()


def growth(tmp_path: Path, format_: str, seed: int) -> int:
    """Return how much more memory a file of twice the size needs."""
    found = []
    for times in (1, 2):
        path = tmp_path / f"{times}.jsonl"
        write_traces(path, format_, seed, times * SIZE)
        found.append(peak(path))
    print(f"{format_}: {found[0] / MEGABYTE:.2f} and {found[1] / MEGABYTE:.2f} MB")
    return found[1] - found[0]


@pytest.fixture(autouse=True)
def small_files_are_on_disk(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spool, "_IN_MEMORY_BYTES", 64 * 1024)


@pytest.mark.full
@each_format
def test_a_file_of_twice_the_size_needs_hardly_more_memory(format_: str, tmp_path: Path, seed: int) -> None:
    assert growth(tmp_path, format_, seed) < MORE


@pytest.mark.full
def test_what_is_held_in_memory_would_show(tmp_path: Path, seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """The negative control of the test above."""
    monkeypatch.setattr(spool, "Spool", Held)
    monkeypatch.setattr(call_histories, "Spool", Held)
    assert growth(tmp_path, "langsmith", seed) > SIZE


@each_format
def test_calls_far_apart_and_in_any_order_become_whole_conversations(format_: str, tmp_path: Path, seed: int) -> None:
    path = tmp_path / "traces.jsonl"
    count = write_traces(path, format_, seed, SIZE // 2)
    with path.open("rb") as file:
        shown = {
            one.session_id: [
                draft.content for batch in batches_of(one.steps) for draft in batch if not is_hidden(draft)
            ]
            for one in TranscriptFile(lambda: file, name="file")
        }
    wanted = [[text_of(number, message) for message in range(2 * TURNS)] for number in range(count)]
    assert shown == {name_of(number): texts for number, texts in enumerate(wanted)}
