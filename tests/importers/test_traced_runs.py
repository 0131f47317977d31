"""Runs of LangSmith and observations of Langfuse, whose calls repeat the history. Source: adapters IN-8, IN-9."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.import_files import import_one
from ledger.errors import ImportRefused
from ledger.events.names import is_entry_id
from ledger.formats.importers import IMPORTERS, documents, read
from ledger.formats.importers.elements.steps import is_hidden
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from tests.support.importer_samples import SAMPLES, leaves, leaves_of
from tests.support.ledgers import ledger_over

LADDER = ["You lend tools.", "Is the ladder free on Sunday?", 'calendar({"item":"ladder"})', "free", "Yes, it is free."]
SAW = ["Where is the saw?", "In the cellar."]
SHOWN: dict[str, dict[str, list[str]]] = {
    "langsmith_runs.jsonl": {"ladder-talk": LADDER},
    "langsmith_chat.json": {
        "5f1d0000-0000-4000-8000-000000000002": [*SAW, "Is it sharp?", "Very."],
        "5f1d0000-0000-4000-8000-000000000002~2": [*SAW, "Whose is it?", "Ours."],
    },
    "langsmith_texts.jsonl": {"5f1d0000-0000-4000-8000-000000000003": ["Name a tool.", "Rasp."]},
    "langfuse_observations.jsonl": {
        "birds": [
            "You know birds.",
            "Which bird sings at night?",
            'birds({"night":true})',
            "nightingale",
            "The nightingale.",
        ]
    },
    "langfuse_trace.json": {"nest": ["Who builds it?", "The wren."]},
    "langfuse_page.json": {"lf-trace-3": ["Can owls swim?", "A little."]},
}
each_file = pytest.mark.parametrize("file", SHOWN)


async def shown(ledger: MemoryLedger) -> dict[str, list[str]]:
    names = [session.session_id for session in await ledger.list_sessions()]
    return {name: [entry.content for entry in await ledger.get_active_entries(name)] for name in names}


async def taken_in(ledger: MemoryLedger, path: Path) -> Any:
    return await import_one(ledger, str(path), None, None, lambda done, total: None)


@each_file
async def test_each_message_is_shown_once_and_a_second_import_adds_nothing(file: str) -> None:
    ledger = ledger_over(InMemoryStore())
    await taken_in(ledger, SAMPLES / file)
    assert await shown(ledger) == SHOWN[file]
    again = await taken_in(ledger, SAMPLES / file)
    assert again.entries == 0
    assert (await ledger.verify()).ok


@each_file
def test_the_format_is_detected_and_nothing_is_lost(file: str) -> None:
    found = documents((SAMPLES / file).read_bytes())
    assert next(importer.name for importer in IMPORTERS if importer.detects(found)) == file.partition("_")[0]
    there = [leaf for one in read(found, name="file") for batch in one.batches for leaf in leaves_of(batch)]
    texts = "\n".join(leaf for leaf in there if isinstance(leaf, str))
    for leaf in leaves([document.value for document in found]):
        if leaf not in NAMES_OF_SHAPES:
            assert leaf in texts if isinstance(leaf, str) else leaf in there, leaf


#: What only names a shape or a page; the entries are of that kind.
NAMES_OF_SHAPES = frozenset(
    {"constructor", "langchain", "schema", "messages", "human", "ai", "system", "tool", "function", "tool_call"}
    | {"SystemMessage", "HumanMessage", "AIMessage", "ToolMessage", "ChatGeneration", "stop", 0, 1, 2, 9}
)


@pytest.mark.parametrize("file", ["langsmith_runs.jsonl", "langfuse_observations.jsonl"])
async def test_a_file_that_has_grown_adds_the_rest(file: str, tmp_path: Path) -> None:
    ledger, path = ledger_over(InMemoryStore()), tmp_path / file
    lines = sorted((SAMPLES / file).read_bytes().splitlines(keepends=True), key=_begun)
    for until in range(1, len(lines) + 1):
        path.write_bytes(b"".join(lines[:until]))
        await taken_in(ledger, path)
    assert await shown(ledger) == SHOWN[file]


def _begun(line: bytes) -> str:
    value = json.loads(line)
    return str(value.get("dotted_order") or value["startTime"])


def test_ids_times_usage_and_model_are_kept__IN_8() -> None:
    (conversation,) = read(documents((SAMPLES / "langsmith_runs.jsonl").read_bytes()), name="file")
    drafts = [draft for batch in conversation.batches for draft in batch]
    call = next(draft for draft in drafts if draft.kind == "tool_call")
    assert call.metadata is not None
    assert (call.metadata["model"], call.metadata["usage"]["total_tokens"]) == ("gpt-5-mini", 42)
    assert str(call.created_at) == "2026-03-01 10:00:03+00:00"
    hidden = [draft.content for draft in drafts if is_hidden(draft)]
    assert hidden == ["[chain agent]", "[llm ChatOpenAI]", "[tool calendar]", "[llm ChatOpenAI]"]


def test_thinking_is_hidden_and_does_not_decide_where_a_call_goes() -> None:
    first, _ = read(documents((SAMPLES / "langsmith_chat.json").read_bytes()), name="file")
    hidden = [draft.content for batch in first.batches for draft in batch if is_hidden(draft)]
    assert "It was new." in hidden


def test_what_is_no_run_is_refused_at_its_line() -> None:
    lines = (SAMPLES / "langsmith_runs.jsonl").read_bytes().splitlines()
    with pytest.raises(ImportRefused) as refused:
        read(documents(b"\n".join([*lines[:2], b'{"run_type": "llm"}'])), name="file")
    assert (refused.value.code, refused.value.line) == ("bad_shape", 3)


@pytest.mark.full
@pytest.mark.parametrize(("indent", "code"), [(None, "line_too_long"), (1, "too_large")])
async def test_a_list_that_is_too_large_is_refused_and_says_what_to_do(
    indent: int | None, code: str, tmp_path: Path
) -> None:
    """The same runs are taken one on each line."""
    run = json.loads((SAMPLES / "langsmith_texts.jsonl").read_bytes().splitlines()[0])
    runs = [{**run, "id": f"run-{number}", "tags": ["x" * 5_500_000]} for number in range(13)]
    path = tmp_path / "runs.json"
    path.write_text(json.dumps(runs, indent=indent))
    ledger = ledger_over(InMemoryStore())
    with pytest.raises(
        ImportRefused, match="at most 67,108,864 bytes; write one message, conversation, run,"
    ) as refused:
        await taken_in(ledger, path)
    assert refused.value.code == code
    path.write_text("\n".join(map(json.dumps, runs)))
    assert (await taken_in(ledger, path)).sessions == 1


def test_one_observation_names_the_session_of_its_trace_and_an_unknown_type_is_kept__IN_9() -> None:
    about = {"traceId": "t-1", "startTime": "2026-03-01T10:00:00Z"}
    said = {"input": [{"role": "user", "content": "Hello"}], "output": "Hi."}
    lines = [
        {**about, "id": "a", "type": "SPAN", "sessionId": "s-1"},
        {**about, "id": "b" * 200, "type": "GENERATION", **said},
        {**about, "id": "c", "type": "NEW_TYPE"},
    ]
    (conversation,) = read(documents(b"\n".join(json.dumps(line).encode() for line in lines)), name="file")
    drafts = [draft for batch in conversation.batches for draft in batch]
    assert conversation.session_id == "s-1"
    assert [draft.content for draft in drafts if not is_hidden(draft)] == ["Hello", "Hi."]
    hidden = {draft.content: draft.entry_id for draft in drafts if is_hidden(draft)}
    assert hidden.keys() == {"[span]", "[generation]", "[new_type]"}
    assert all(is_entry_id(entry_id or "") for entry_id in hidden.values())
