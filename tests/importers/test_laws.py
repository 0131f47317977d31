"""Laws of every importer, over the registry; a new one meets them with its samples. Source: R-GEN-2, trust E-12."""

import copy
import json
from typing import Any

import pytest

from ledger.events.limits import METADATA_BYTES
from ledger.formats.importers import IMPORTERS, documents, read
from ledger.formats.importers.elements.steps import HIDDEN, Batch
from ledger.ports import Store
from ledger.session.entry_drafts import EntryDraft
from ledger.stores.in_memory import InMemoryStore
from projections.entries import Entry
from projections.tool_pairs import group_units, orphans
from tests.support.importer_samples import (
    CASES,
    IDS,
    LISTS,
    Case,
    conversations_of,
    leaves,
    leaves_of,
    messages,
    values,
    written,
)
from tests.support.ledgers import ledger_over

#: A field that is stored in metadata, of formats in whose samples it has another meaning, or is none; see `held`.
HELD = {
    "swe-agent": "agent",
    "openhands": "source",
    "bfcl-memory": "mood",
    "dated-sessions": "speaker",
    "claude-code": "parentUuid",
    "codex": "timestamp",
    "gemini-cli": "timestamp",
    "sharegpt": "from",
}

#: Types that say only which kind of entry a part is.
SHAPES = {
    *("function", "message", "text", "tool_use", "tool_result", "gemini", "thinking"),
    *("response_item", "input_text", "output_text", "function_call", "function_call_output"),
}

each_case = pytest.mark.parametrize("case", CASES, ids=IDS)


def test_every_importer_of_the_registry_has_a_sample() -> None:
    # calls repeat messages, or messages are a tree: test_otlp_files.py, test_traced_runs.py, test_chat_exports.py
    whole = {"otlp", "langsmith", "langfuse", "chat-export"}
    missing = {importer.name for importer in IMPORTERS} - {case.format for case in CASES} - whole
    assert missing == set(), f"add samples of {sorted(missing)} to CASES in tests/support/importer_samples.py"


@each_case
def test_a_format_is_detected_by_the_content_alone(case: Case) -> None:
    found = documents(case.data)
    by_content = [importer.name for importer in IMPORTERS if importer.detects(found)]
    assert by_content[:1] == [case.format], (
        f"{case.file} is read as the first of {by_content}: place {case.format} before it in IMPORTERS, "
        "or let its `detects` ask for what only its files have"
    )
    for name in ("file", "other.traj", "x.jsonl", "日本", ""):
        assert {conversation.format for conversation in read(found, name=name)} == {case.format}


@each_case
def test_a_sample_holds_the_sessions_and_messages_it_should(case: Case) -> None:
    found = conversations_of(case.data)
    assert {conversation.session_id: len(conversation.batches) for conversation in found} == case.sessions


@each_case
def test_every_message_is_one_batch_in_order(case: Case) -> None:
    for conversation, originals in zip(conversations_of(case.data), messages(case), strict=True):
        assert len(conversation.batches) == len(originals)
        assert all(conversation.batches), "no batch is empty"


@each_case
def test_nothing_of_a_message_is_lost(case: Case) -> None:
    for conversation, originals in zip(conversations_of(case.data), messages(case), strict=True):
        for batch, original in zip(conversation.batches, originals, strict=True):
            there = leaves_of(batch)
            texts = "\n".join(leaf for leaf in there if isinstance(leaf, str))
            for leaf in leaves(_beside_types(original)):
                assert leaf in texts if isinstance(leaf, str) else leaf in there, f"{leaf!r} of {original}"


@each_case
def test_the_fields_of_the_whole_are_with_the_first_entry(case: Case) -> None:
    whole = [value for value in values(case) if isinstance(value, dict)]
    for conversation, value in zip(conversations_of(case.data), whole, strict=False):
        if len(whole) == len(case.sessions):
            about = {key: item for key, item in value.items() if not isinstance(item, list) or key == "tools"}
            there = leaves_of(conversation.batches[0])
            assert all(leaf in there for leaf in leaves(about))


@each_case
def test_unknown_fields_are_stored_in_data(case: Case) -> None:
    changed = copy.deepcopy(values(case))
    for number, message in enumerate(_messages_in(changed)):
        message["surprise"] = {"deep": [f"mark {number}"]}
    batches = [batch for item in conversations_of(written(case, changed)) for batch in item.batches]
    marks = [
        [item["surprise"]["deep"] for draft in batch if "surprise" in (item := _item_of(draft))]
        for batch in batches
        if not _is_prompt(batch, changed)
    ]
    assert marks == [[[f"mark {number}"]] for number in range(len(marks))]


@each_case
def test_metadata_over_its_limit_moves_to_data(case: Case) -> None:
    changed = copy.deepcopy(values(case))
    huge = "x" * (METADATA_BYTES + 1)
    field = HELD.get(case.format) or held(case)
    for message in _messages_in(changed):
        message[field] = huge
    batches = [batch for item in conversations_of(written(case, changed)) for batch in item.batches]
    for batch in batches:
        assert huge in leaves_of(batch) or _is_prompt(batch, changed)
        assert all(len(json.dumps(draft.metadata or {})) <= METADATA_BYTES for draft in batch)


@each_case
def test_a_tool_result_is_with_its_call_also_when_ids_are_used_again(case: Case) -> None:
    for conversation in conversations_of(case.data):
        entries = _as_entries(conversation)
        assert orphans((), entries) == set()
        for unit in group_units(entries):
            results = [entry for entry in unit.entries if entry.kind == "tool_result"]
            if results:
                ids = [entry.tool_call_id for entry in unit.entries if entry.kind == "tool_call"]
                assert not unit.open
                assert len(set(ids)) == len(ids) == len(results)


@each_case
async def test_importing_twice_equals_once(case: Case, store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace)
    found = conversations_of(case.data)
    first = await ledger.import_conversations(found)
    before = [event async for event in ledger.export_file()]
    second = await ledger.import_conversations(conversations_of(case.data))
    assert [event async for event in ledger.export_file()] == before
    entries = sum(len(batch) for result in found for batch in result.batches)
    assert (first.sessions, first.entries, first.skipped) == (len(case.sessions), entries, 0)
    assert (second.sessions, second.entries, second.skipped) == (len(case.sessions), 0, entries)
    assert first.session_ids == tuple(case.sessions)
    assert (await ledger.verify()).ok


@each_case
async def test_each_batch_has_a_write_id_of_its_own_and_nothing_is_compacted(case: Case) -> None:
    ledger = ledger_over(InMemoryStore(), config={"maxEntries": 1, "recentWindow": 0, "minEntriesToCompress": 1})
    for conversation in conversations_of(case.data):
        await ledger.import_conversations([conversation])
        entries = (await ledger.get_history(conversation.session_id)).entries
        active = await ledger.get_active_entries(conversation.session_id)
        shown = [entry.version for entry in entries if not (entry.metadata or {}).get(HIDDEN)]
        assert [entry.version for entry in active] == shown
        sizes: dict[str, int] = {}
        for entry in entries:
            sizes[entry.write_id] = sizes.get(entry.write_id, 0) + 1
        assert list(sizes.values()) == [len(batch) for batch in conversation.batches]
        opened = (await ledger.get_events(conversation.session_id, limit=1))[0].payload
        assert opened.imported_from.format == case.format


def held(case: Case) -> str:
    """Return the field of a message that becomes its original id in metadata, or its time; ``id`` if neither is."""
    batches = [batch for item in conversations_of(case.data) for batch in item.batches]
    stored = [draft.metadata or {} for batch in batches for draft in batch]
    for name in ("original_id", "original_timestamp"):
        there = [metadata[name] for metadata in stored if isinstance(metadata.get(name), str)]
        for message in _messages_in(values(case)):
            for field, value in message.items():
                if value in there:
                    return field
    return "id"


def test_the_field_that_is_held_in_metadata_is_found() -> None:
    found = {(case.format, held(case)) for case in CASES}
    assert {("openai-chat", "id"), ("anthropic", "id"), ("codex", "timestamp")} <= found


def _item_of(draft: EntryDraft) -> dict[str, Any]:
    """Return the data of an entry, or the whole item in it."""
    data = draft.data or {}
    return {**data, **data.get("item", {})}


def _is_prompt(batch: Batch, whole: list[Any]) -> bool:
    """Tell whether it is the system prompt that is a field of a conversation, not a message of its own."""
    given = [value.get("system") or value.get("instructions") for value in whole if isinstance(value, dict)]
    return batch[0].role == "system" and any(batch[0].content in str(prompt) for prompt in given if prompt)


def _beside_types(value: Any) -> Any:
    """Return *value* without what only names a shape or status; what it shapes is there, as an entry of a kind."""
    if isinstance(value, dict):
        there = {key: item for key, item in value.items() if not (key == "type" and item in SHAPES)}
        return {key: _beside_types(item) for key, item in there.items() if key != "is_error"}
    return [_beside_types(item) for item in value] if isinstance(value, list) else value


def _messages_in(changed: list[Any]) -> list[dict[str, Any]]:
    """Return the messages inside parsed samples, to be changed in place."""
    found = []
    for value in changed:
        listed = value if isinstance(value, list) else [value]
        for item in listed:
            turns = item.get("question") if isinstance(item, dict) else None
            if isinstance(turns, list):
                found.extend(message for turn in turns for message in turn)
                continue
            if isinstance(item, dict) and "sessions" in item:
                found.extend(entry for session in item["sessions"] for entry in session["entries"])
                continue
            inside = next((item[name] for name in LISTS if name in item), None)
            if inside is None and item.get("object") == "response":
                inside = [*item["input"], *item["output"]]
            found.extend([item] if inside is None else inside)
    return found


def _as_entries(conversation: Any) -> list[Any]:
    entries = []
    for draft in (draft for batch in conversation.batches for draft in batch):
        fields = {name: getattr(draft, name) for name in ("kind", "role", "content", "tool_name", "tool_call_id")}
        version = len(entries) + 1
        entries.append(Entry(version, draft.entry_id, "w", tokens=1, tokenizer="caller", recorded_us=0, **fields))
    return entries
