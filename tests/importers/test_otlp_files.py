"""OTLP JSON files: what the spans and log records of model calls become. Source: adapters IN-7."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.import_files import import_one
from ledger.errors import ImportRefused
from ledger.formats.importers import IMPORTERS, Document, documents, read
from ledger.formats.importers.elements.steps import is_hidden, line_type_of
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.importer_samples import SAMPLES
from tests.support.json_as_text import read_back
from tests.support.ledgers import ledger_over
from tests.support.model_spans import asked, attributes_of_call, returned, said, span_json, traces_json

FILES = ("otlp_request.json", "otlp_lines.jsonl", "otlp_logs.jsonl")
TRACE = f"{7:032x}"
SHOWN = {
    "garden": [
        "You tend a garden.",
        "Which beans grow in shade?",
        "Scarlet runners do best.",
        "How many seeds are left?",
        'count_seeds({"kind":"runner"})',
        '{"left":14}',
        "Fourteen.",
    ],
    TRACE: ["Which beans grow in shade?", "Scarlet runners do best.", "And this one?", "[blob]", "A broad bean."],
    f"{TRACE}~2": [
        "Which beans grow in shade?",
        "Scarlet runners do best.",
        "How many seeds are left?",
        "Fourteen.",
    ],
    "seeds": [
        "Which beans grow in shade?",
        "Scarlet runners do best.",
        "How many seeds are left?",
        'count_seeds({"kind":"runner"})',
        '{"left":14}',
        "Fourteen.",
    ],
}
HIDDEN = {
    "otlp_request.json": {"chat span": 3, "execute_tool span": 1, "invoke_agent span": 1},
    "otlp_lines.jsonl": {"chat span": 4},
    "otlp_logs.jsonl": {"chat log": 3},
}


async def transcripts(ledger: MemoryLedger) -> dict[str, list[str]]:
    names = [session.session_id for session in await ledger.list_sessions()]
    return {name: [entry.content for entry in await ledger.get_transcript(name)] for name in names}


async def taken_in(ledger: MemoryLedger, path: Path) -> Any:
    return await import_one(ledger, str(path), None, None, lambda done, total: None)


@pytest.mark.parametrize("name", FILES)
async def test_a_session_is_put_together_from_its_calls__IN_7(name: str, ledger: MemoryLedger) -> None:
    """Each message once, and nothing is added again."""
    found = documents((SAMPLES / name).read_bytes())
    assert next(importer.name for importer in IMPORTERS if importer.detects(found)) == "otlp"
    done = await taken_in(ledger, SAMPLES / name)
    shown = await transcripts(ledger)
    assert shown
    assert shown == {session: SHOWN[session] for session in shown}
    assert done.other_lines == HIDDEN[name]
    again = await taken_in(ledger, SAMPLES / name)
    assert (again.entries, await transcripts(ledger)) == (0, shown)


@pytest.mark.parametrize("name", [name for name in FILES if name.endswith("l")])
async def test_a_file_that_grows_becomes_what_it_would_have_at_once__IN_2(name: str, tmp_path: Path) -> None:
    lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
    at_once, growing = ledger_over(InMemoryStore()), ledger_over(InMemoryStore())
    await taken_in(at_once, SAMPLES / name)
    for number in range(1, len(lines) + 1):
        (tmp_path / name).write_bytes(b"".join(lines[:number]))
        await taken_in(growing, tmp_path / name)
    assert await transcripts(growing) == await transcripts(at_once)


async def test_usage_and_tools_are_stored_beside_the_messages__IN_7() -> None:
    (session,) = read(documents((SAMPLES / "otlp_request.json").read_bytes()), name="file")
    drafts = [draft for batch in session.batches for draft in batch]
    answers = [draft for draft in drafts if "usage" in (draft.metadata or {}) and not is_hidden(draft)]
    assert [draft.metadata["model"] for draft in answers if draft.metadata] == ["gpt-5"] * 3
    assert answers[0].metadata is not None
    assert answers[0].metadata["usage"] == {"input_tokens": 12, "output_tokens": 3}
    (tool,) = [draft for draft in drafts if line_type_of(draft) == "execute_tool span"]
    assert (tool.kind, tool.tool_call_id, tool.tool_status) == ("tool_result", "call_1", "ok")
    assert tool.data["arguments"] == {"kind": "runner"}


async def test_messages_that_are_cut_are_stored_as_they_came__IN_7(tmp_path: Path) -> None:
    """An SDK may limit the length of attributes, which breaks the JSON."""
    good = attributes_of_call("s", [said("user", "Hi")], [said("assistant", "Hello")])
    cut = {**good, "gen_ai.input.messages": '[{"role": "user", "parts": [{"type": "te'}
    path = tmp_path / "cut.json"
    path.write_text(json.dumps(traces_json(span_json(good, span=1), span_json(cut, span=2))))
    ledger = ledger_over(InMemoryStore())
    await taken_in(ledger, path)
    assert await transcripts(ledger) == {"s": ["Hi", "Hello"]}
    entries = (await ledger.get_history("s")).entries
    assert entries[-1].data["attributes"]["gen_ai.input.messages"] == cut["gen_ai.input.messages"]


async def test_what_an_agent_alone_shows_is_hidden_and_not_dropped__IN_7(tmp_path: Path) -> None:
    thought = {"role": "assistant", "parts": [{"type": "reasoning", "content": "Hm."}]}
    call = attributes_of_call("s", [said("user", "Hi")], [said("assistant", "Hello")])
    agent = attributes_of_call(
        "s", [said("user", "Hi")], [thought, said("assistant", "Bye")], gen_ai__operation__name="invoke_agent"
    )
    path = tmp_path / "agent.json"
    path.write_text(json.dumps(traces_json(span_json(call, span=1), span_json(agent, span=2))))
    ledger = ledger_over(InMemoryStore())
    await taken_in(ledger, path)
    assert await transcripts(ledger) == {"s": ["Hi", "Hello"]}
    entries = (await ledger.get_history("s")).entries
    assert "Hm." in [entry.content for entry in entries]
    assert entries[-1].data["messages"][-1]["content"] == "Bye"


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (traces_json(span_json({"gen_ai.operation.name": "chat"}, span=1)), "no_content"),
        (traces_json(span_json({"http.request.method": "GET"}, span=1)), "no_content"),
        ({"resourceSpans": []}, "no_content"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": ["x"]}]}]}, "bad_shape"),
        ({"resourceSpans": [{"scopeSpans": [{"spans": [{"attributes": [{"value": {}}]}]}]}]}, "bad_shape"),
    ],
)
async def test_a_file_without_messages_is_refused_and_says_what_to_set__IN_7(
    value: Any, code: str, tmp_path: Path
) -> None:
    path = tmp_path / "bare.json"
    path.write_text(json.dumps(value))
    ledger = ledger_over(InMemoryStore())
    with pytest.raises(ImportRefused) as refusal:
        await taken_in(ledger, path)
    assert refusal.value.code == code
    if code == "no_content":
        assert "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT" in str(refusal.value)
    assert await ledger.list_sessions() == []


@pytest.mark.parametrize(
    "given",
    [
        {"Which of these do you prefer? " * 10: "The first"},
        {f"garden/{number}.py": 1 for number in range(1_001)},
        json.loads("[" * 40 + "]" * 40),
    ],
    ids=["a question as key", "many files as keys", "deep"],
)
def test_a_call_whose_messages_are_no_text_may_have_any_json_in_arguments__IN_7(given: Any) -> None:
    call = asked("c1", "ask")
    call["parts"][0]["arguments"] = given
    told = [said("user", "Which beans?"), call, returned("c1", given)]
    attributes = {**attributes_of_call("s", [], []), "gen_ai.input.messages": told}
    found = read(iter([Document(1, traces_json(span_json(attributes, span=1)))]), name="file")
    drafts = [draft for batch in found[0].batches for draft in batch if not is_hidden(draft)]
    assert [draft.kind for draft in drafts] == ["message", "tool_call", "tool_result"]
    assert (read_back(drafts[1].arguments), json.loads(drafts[2].content)) == (given, given)
