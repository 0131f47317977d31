"""Law of all importers: what is not understood is named, and most of a file is refused. Source: adapters IN-20."""

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.import_files import import_one
from ledger.errors import ImportRefused
from ledger.formats.export.importing import Imported
from ledger.formats.importers import FORMATS
from ledger.formats.importers.elements import unread
from ledger.formats.importers.opentelemetry.otlp_dialects import DIALECTS
from ledger.stores.in_memory import InMemoryStore
from tests.importers.test_message_shapes import SHAPES, observation_of, run_of, span_of
from tests.support.examples import seeds
from tests.support.ledgers import ledger_over

#: What spoils a message, as each shape of messages has it, and the kind of note that it gets.
STRANGE_PARTS = ({"type": "hologram", "beam": 7}, {"hologram": {"beam": 7}})


def written(path: Path, text: str) -> None:
    path.write_text(text)


async def taken_in(value: Any, path: Path, *, by_line: bool = False) -> Imported:
    """Import *value* as one document, or each item of it as a line."""
    written(path, "\n".join(map(json.dumps, value)) if by_line else json.dumps(value))
    ledger = ledger_over(InMemoryStore())
    first = await import_one(ledger, str(path), None, None, lambda done, total: None)
    again = await import_one(ledger, str(path), None, None, lambda done, total: None)
    assert (again.entries, again.notes) == (0, first.notes)
    return first


def kinds(done: Imported) -> Counter[str]:
    return Counter(note.kind for note in done.notes)


def conversation(random_: random.Random) -> tuple[list[Any], Counter[str], dict[int, str]]:
    """Return messages one a line, the notes that they must get, and the kind of each line that has one."""
    messages: list[Any] = []
    wanted: Counter[str] = Counter()
    lines: dict[int, str] = {}
    for number in range(random_.randrange(4, 12)):
        messages += [
            {"role": "user", "content": f"question {number}"},
            {"role": "assistant", "content": f"yes {number}"},
        ]
        match random_.randrange(6):
            case 0:
                call = {"type": "tool-call", "toolCallId": f"c{number}", "toolName": "look", "input": {}}
                messages.append({"role": "assistant", "content": [call]})
                lines[len(messages)] = "call_without_result"
            case 1:
                messages.append({"role": "tool", "tool_call_id": f"x{number}", "content": "42"})
                lines[len(messages)] = "result_without_call"
            case 2:
                part = random_.choice(STRANGE_PARTS)
                text = {"type": "text", "text": "see"}
                messages.append({"role": "user", "content": random_.choice([[part], [text, part]])})
                lines[len(messages)] = "not_understood"
            case 3:
                messages.append({"role": "user", "body": f"text in a field that is not known {number}"})
                lines[len(messages)] = "not_understood"
            case 4:
                call = {"id": f"c{number}", "function": {"name": "look", "arguments": "{}"}}
                messages.append({"role": "assistant", "content": None, "tool_calls": [call]})
                messages.append({"role": "tool", "tool_call_id": f"c{number}", "content": "42"})
            case _:
                pass
    wanted.update(lines.values())
    return messages, wanted, lines


async def check_law(seed: int, path: Path) -> None:
    messages, wanted, lines = conversation(random.Random(seed))
    done = await taken_in(messages, path, by_line=True)
    assert kinds(done) == wanted, f"seed {seed}"
    assert {note.line: note.kind for note in done.notes} == lines, f"seed {seed}"


@pytest.mark.parametrize("seed", range(100))
async def test_each_fault_of_a_conversation_is_named_with_its_line__IN_20(seed: int, tmp_path: Path) -> None:
    await check_law(seed, tmp_path / "faults.jsonl")


@pytest.mark.slow
async def test_each_fault_of_2000_conversations_is_named_with_its_line__IN_20(tmp_path: Path) -> None:
    with seeds(2000) as tried:
        for seed in tried:
            await check_law(seed, tmp_path / "faults.jsonl")


async def test_a_result_without_an_id_belongs_to_a_call_of_its_tool_only__IN_20(tmp_path: Path) -> None:
    """As in the window (R-GEN-8): Gemini has no ids."""
    call, result = {"functionCall": {"name": "f", "args": {}}}, {"functionResponse": {"name": "g", "response": {}}}
    contents = [
        {"role": "user", "parts": [{"text": "Look."}]},
        {"role": "model", "parts": [call, {"functionCall": {"name": "h", "args": {}}}]},
        {"role": "user", "parts": [result, {"functionResponse": {"name": "h", "response": {}}}]},
    ]
    done = await taken_in({"contents": contents}, tmp_path / "gemini.json")
    assert kinds(done) == {"result_without_call": 1, "call_without_result": 1}


@pytest.mark.parametrize("name", ["checked", "OpenCalls"])
async def test_an_import_that_is_silent_is_caught(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(unread.OpenCalls):
        def left(self) -> Any:
            return iter(())

    broken: Any = Silent if name == "OpenCalls" else lambda entry, line: entry
    monkeypatch.setattr(f"ledger.formats.importers.elements.importer.{name}", broken)
    caught = 0
    for seed in range(20):
        try:
            await check_law(seed, tmp_path / "faults.jsonl")
        except AssertionError:
            caught += 1
    assert caught


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("holder", [observation_of, run_of, span_of, list])
async def test_what_is_whole_has_no_notes__IN_20(shape: str, holder: Any, tmp_path: Path) -> None:
    done = await taken_in(holder(SHAPES[shape]), tmp_path / "whole.json")
    assert done.notes == ()


@pytest.mark.parametrize("holder", [observation_of, run_of, span_of])
async def test_a_call_without_a_result_is_named_in_traces__IN_20(holder: Any, tmp_path: Path) -> None:
    messages = [each for each in SHAPES["semantic conventions"] if each["role"] != "tool"]
    done = await taken_in(holder(messages), tmp_path / "open.json")
    assert kinds(done) == {"call_without_result": 1}
    assert "weather c1" in done.notes[0].text


async def test_what_holds_no_messages_is_named_with_its_id__IN_20(tmp_path: Path) -> None:
    whole = SHAPES["chat"]
    odd = {**observation_of(whole)[0], "id": "o2", "input": {"pixels": [1, 2]}}
    bare = {**observation_of(whole)[0], "id": "o3", "input": None}
    done = await taken_in([*observation_of(whole), odd, bare], tmp_path / "runs.json")
    assert kinds(done) == {"not_understood": 1, "without_content": 1}
    assert ["o2" in note.text or "o3" in note.text for note in done.notes] == [True, True]


async def test_a_role_that_the_file_does_not_say_is_named__IN_20(tmp_path: Path) -> None:
    turns = [{"from": "human", "value": "hi"}, {"from": "gpt", "value": "yo"}, {"from": "narrator", "value": "Night."}]
    done = await taken_in([{"id": "s", "conversations": turns}], tmp_path / "turns.json")
    assert kinds(done) == {"role_guessed": 1}
    plain = {**observation_of(SHAPES["chat"])[0], "input": "hi", "output": "yo"}
    assert kinds(await taken_in([plain], tmp_path / "plain.json")) == {"role_guessed": 1}


@pytest.mark.parametrize("bad", [3, 2])
async def test_a_file_of_which_most_is_not_understood_is_refused__IN_20(bad: int, tmp_path: Path) -> None:
    messages = [{"role": "user", "body": "x"}] * bad + [{"role": "user", "content": "hi"}] * 2
    if bad > 2:
        with pytest.raises(ImportRefused, match=r"3 of 5 messages were not understood.*body") as refusal:
            await taken_in(messages, tmp_path / "odd.jsonl", by_line=True)
        assert (refusal.value.code, refusal.value.line) == ("not_understood", 1)
    else:
        assert kinds(await taken_in(messages, tmp_path / "odd.jsonl", by_line=True)) == {"not_understood": 2}


@pytest.mark.parametrize("holder", [observation_of, run_of, span_of, list])
async def test_a_message_in_a_field_that_is_not_known_is_named_wherever_it_is_held__IN_20(
    holder: Any, tmp_path: Path
) -> None:
    odd, empty = {"role": "user", "body": "text"}, {"role": "assistant", "content": ""}
    done = await taken_in(holder([odd, empty, *SHAPES["chat"]]), tmp_path / "odd.json")
    assert (kinds(done), done.notes[0].text.endswith("not understood: body")) == ({"not_understood": 1}, True)


async def test_a_role_that_was_guessed_hides_nothing_that_was_not_understood__IN_20(tmp_path: Path) -> None:
    messages = [{"role": "narrator", "body": "x"}] * 3
    with pytest.raises(ImportRefused, match=r"3 of 3 messages were not understood"):
        await taken_in(span_of(messages), tmp_path / "odd.json")


async def test_nothing_of_a_refused_file_is_written__IN_20(tmp_path: Path) -> None:
    path = tmp_path / "odd.json"
    written(path, json.dumps([{"messages": [{"role": "user", "body": "x"}]}] * 3))
    ledger = ledger_over(InMemoryStore())
    with pytest.raises(ImportRefused):
        await import_one(ledger, str(path), None, None, lambda done, total: None)
    assert await ledger.list_sessions() == []


def test_the_documents_have_a_row_for_each_format_and_dialect__IN_20() -> None:
    docs = Path(__file__).parents[2] / "docs"
    table = (docs / "command-line.md").read_text().partition("### What is read")[2].partition("### Folders")[0]
    without = [name for name in FORMATS if f"`{name}`" not in table]
    assert without == [], "add a row to the table under `What is read` in docs/command-line.md"
    known = (docs / "adapters" / "opentelemetry.md").read_text().partition("## Dialects")[2]
    rows = known.partition("## What becomes")[0].lower()
    assert [name for name in DIALECTS if name.split(" per ")[0].removesuffix("s").lower() not in rows] == []
