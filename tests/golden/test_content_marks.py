"""Every field of every event is content or structure, on purpose. Source: trust D-3."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import pytest
from msgspec import inspect
from msgspec.structs import fields

from ledger.events import EVENT_TYPES, NO_FACTS, ContentFacts, EntryAdded, Event, MemoryAdded, MemoryFields
from ledger.events.content import is_content, without_content
from ledger.events.payload_types import Content, PayloadPart
from tests.golden.new_files import event_of

ID: Final = "an id: others name it, and hashes and indexes have it"
NAME: Final = "a name of the stream: its id follows from it"
CONFIG: Final = "the memory config, or a part of it: folds go by it, and who runs the agent writes it"
KEY: Final = "the key or type of a strategy of the config"
MODEL: Final = "the name of a model or of its parameters, from the config"
TOKENIZER: Final = "the name of a tokenizer"
TOOL: Final = "a tool's name or the id of its call: results are paired with calls by them"
WORD: Final = "one of a few words, which the code that writes it chooses"
ROLE: Final = "who speaks: units and interactions go by it; clients of the compatible API may name others than ours"
DIGEST: Final = "a digest, which tells what was asked or shown from something else"
OPERATOR: Final = "what who runs the service calls it"
KEPT: Final = "the key of a kept value, which the index has: keys are names, not texts"
VIEW: Final = "what a summary view is about, as who runs the service defines it"
GROUP: Final = "names of users, sessions and namespaces, and memory types: nothing else makes groups"
FOLDED: Final = "what a strategy counts: numbers, ids and ranges, never words"
EXTRACTION: Final = "the config of an extraction, as who runs the agent writes it"
#: The fields that could hold text or JSON and are no content, by class, each with the reason.
STRUCTURE: Final[Mapping[str, str]] = {
    f"{cls}.{name}": reason
    for cls, listed in {
        "EntryAdded": {
            "entry_id": ID,
            "role": ROLE,
            "tokenizer": TOKENIZER,
            "tool_name": TOOL,
            "tool_call_id": TOOL,
            "write_id": ID,
        },
        "CompactionRequested": {
            "compaction_id": ID,
            "key": KEY,
            "strategy": KEY,
            "config": CONFIG,
            "reasons": WORD,
            "folds": ID,
            "write_id": ID,
        },
        "CompactionCompleted": {
            "compaction_id": ID,
            "key": KEY,
            "strategy": KEY,
            "folds": ID,
            "summary_id": ID,
            "tokenizer": TOKENIZER,
            "model": MODEL,
            "trust": WORD,
            "ended": WORD,
            "write_id": ID,
        },
        "CompactionFailed": {"compaction_id": ID, "key": KEY, "write_id": ID},
        "CompactionDiscarded": {"compaction_id": ID, "key": KEY, "write_id": ID},
        "CompactionContinued": {"write_id": ID},
        "RebuildRequested": {"rebuild_id": ID, "config": CONFIG, "write_id": ID},
        "RebuildAnswered": {"rebuild_id": ID, "model": MODEL, "write_id": ID},
        "RebuildCompleted": {"rebuild_id": ID, "config": CONFIG, "retired": ID, "tasks": ID, "write_id": ID},
        "RebuildFailed": {"rebuild_id": ID, "write_id": ID},
        "EntriesReturned": {"write_id": ID},
        "EntryEdited": {"entry_id": ID, "tokenizer": TOKENIZER, "role": ROLE, "write_id": ID},
        "EntryRemoved": {"entry_id": ID, "write_id": ID},
        "EntriesExtracted": {"strategy": WORD, "record_ids": ID, "model": MODEL, "write_id": ID},
        "EntriesIndexed": {"write_id": ID},
        "SessionOpened": {"namespace": NAME, "user_id": NAME, "session_id": NAME, "config": CONFIG, "write_id": ID},
        "SessionCleared": {"write_id": ID},
        "SessionRestored": {"write_id": ID},
        "ConfigChanged": {"config": CONFIG, "write_id": ID},
        "ContextSet": {"summary_id": ID, "tokenizer": TOKENIZER, "folds": ID, "write_id": ID},
        "DataChanged": {"write_id": ID},
        "ExpirySet": {"write_id": ID},
        "MemoryAdded": {"memory_id": ID, "write_id": ID},
        "MemoryEdited": {"memory_id": ID, "write_id": ID},
        "MemoryRemoved": {"memory_id": ID, "write_id": ID},
        "MemoryPromoted": {"memory_id": ID, "record_id": ID, "write_id": ID},
        "KeptSet": {"space": KEPT, "key": KEPT, "write_id": ID},
        "KeptRemoved": {"space": KEPT, "key": KEPT, "write_id": ID},
        "ContextRendered": {
            "strategy": KEY,
            "config_digest": DIGEST,
            "text_digest": DIGEST,
            "messages_digest": DIGEST,
            "items": ID,
            "write_id": ID,
        },
        "RecordCreated": {"record_id": ID, "write_id": ID},
        "RecordEdited": {"record_id": ID, "write_id": ID},
        "RecordMerged": {"record_id": ID, "merged": ID, "write_id": ID},
        "RecordDeleted": {"record_id": ID, "reason": WORD, "write_id": ID},
        "RecordRestored": {"record_id": ID, "write_id": ID},
        "TokenCreated": {
            "key_id": ID,
            "name": OPERATOR,
            "token_hash": DIGEST,
            "scopes": WORD,
            "namespaces": NAME,
            "write_id": ID,
        },
        "TokenRevoked": {"key_id": ID, "write_id": ID},
        "SummaryViewCreated": {"view_id": ID, "write_id": ID},
        "SummaryViewDeleted": {"view_id": ID, "write_id": ID},
        "SummaryViewRunRequested": {"view_id": ID, "task_id": ID, "write_id": ID},
        "SummaryViewRunStarted": {"view_id": ID, "task_id": ID, "write_id": ID},
        "SummaryViewRunCompleted": {"view_id": ID, "task_id": ID, "write_id": ID},
        "SummaryViewRunFailed": {"view_id": ID, "task_id": ID, "write_id": ID},
        "SummaryViewPartitionSummarized": {
            "view_id": ID,
            "group": GROUP,
            "request_hash": DIGEST,
            "model": MODEL,
            "task_id": ID,
            "write_id": ID,
        },
        "ModelOutput": {"request_hash": DIGEST},
        "SummaryViewDefinition": {
            "name": OPERATOR,
            "group_by": WORD,
            "filters": VIEW,
            "prompt": VIEW,
            "model_name": MODEL,
        },
        "MemoryFields": {
            "memory_type": WORD,
            "user_id": NAME,
            "session_id": NAME,
            "namespace": NAME,
            "extracted_from": ID,
            "extraction_strategy": WORD,
            "extraction_strategy_config": EXTRACTION,
        },
        "RecordSource": {"session_id": NAME, "user_id": NAME},
        "KnowledgeSource": {"session_id": NAME, "user_id": NAME},
        "Extraction": {"strategy": WORD, "config": EXTRACTION},
        "ImportedFrom": {
            "format": WORD,
            "session_id": NAME,
            "user_id": NAME,
            "namespace": NAME,
            "ledger_id": ID,
            "head_hash": DIGEST,
        },
        "ForkedFrom": {"session_id": NAME, "user_id": NAME},
        "ReturnedEntry": {
            "entry_id": ID,
            "write_id": ID,
            "role": ROLE,
            "tokenizer": TOKENIZER,
            "tool_name": TOOL,
            "tool_call_id": TOOL,
        },
        "Continuation": {"watermarks": KEY},
        "CountedFailures": {"key": KEY},
        "StrategyProgress": {"config": CONFIG, "folded": FOLDED},
        "Block": {"first_id": ID, "last_id": ID},
        "PlannedCall": {"request_hash": DIGEST, "template_hash": DIGEST, "model": MODEL, "parameters": MODEL},
    }.items()
    for name, reason in listed.items()
}


def parts() -> list[type[msgspec.Struct]]:
    """Return the classes of events, and those of their parts."""
    found: dict[type[msgspec.Struct], None] = dict.fromkeys(EVENT_TYPES.values())
    waiting = list(found)
    while waiting:
        for field in inspect.type_info(waiting.pop()).fields:
            new = [kind.cls for kind in _inside(field.type) if isinstance(kind, inspect.StructType)]
            waiting += [cls for cls in new if cls not in found]
            found |= dict.fromkeys(new)
    return list(found)


def _inside(kind: inspect.Type) -> Iterator[inspect.Type]:
    """Yield *kind* and the types that it is made of."""
    yield kind
    if isinstance(kind, inspect.StructType):
        return
    for name in ("type", "types", "item_type", "item_types", "key_type", "value_type"):
        inner = getattr(kind, name, ())
        for each in (inner,) if isinstance(inner, inspect.Type) else inner:
            yield from _inside(each)


_FREE: Final = (inspect.StrType, inspect.BytesType, inspect.AnyType, inspect.DictType, inspect.RawType)


def not_marked(cls: type[msgspec.Struct]) -> list[str]:
    """Return the fields of *cls* that may hold any text or JSON and are not marked as content."""
    return [
        f"{cls.__name__}.{field.name}"
        for field in inspect.type_info(cls).fields
        if not is_content(field.type) and any(isinstance(kind, _FREE) for kind in _inside(field.type))
    ]


def check(classes: list[type[msgspec.Struct]], structure: Mapping[str, str] = STRUCTURE) -> None:
    found = {name for cls in classes for name in not_marked(cls)}
    new = sorted(found - structure.keys())
    assert not new, (
        f"{new} may hold what somebody said: mark each as Content[...], so that it can be erased, or, if folds or "
        "proofs need it and nobody's words are in it, add it to STRUCTURE with the reason"
    )
    assert not structure.keys() - found, f"no such field, or it is content: {sorted(structure.keys() - found)}"


def test_each_field_that_could_hold_text_is_content_or_listed_as_structure_with_a_reason() -> None:
    check(parts())


def test_a_new_field_that_nobody_classified_is_noticed() -> None:
    """Negative control."""

    class Remark(PayloadPart, frozen=True):
        remark: str | None = None

    class Marked(PayloadPart, frozen=True):
        remark: Content[str | None] = None

    check([*parts(), Marked])
    with pytest.raises(AssertionError, match=r"Remark.remark.*mark each as Content"):
        check([*parts(), Remark])
    with pytest.raises(AssertionError, match=r"no such field.*Gone.text"):
        check(parts(), {**STRUCTURE, "Gone.text": "it was"})


@pytest.mark.parametrize("cls", EVENT_TYPES.values(), ids=EVENT_TYPES)
def test_without_content_an_event_has_its_structure_and_can_be_stored(cls: type[Event]) -> None:
    event = event_of(cls)
    bare = without_content(event)
    assert msgspec.json.decode(msgspec.json.encode(bare), type=cls) == bare
    assert without_content(bare) == bare
    for field in inspect.type_info(cls).fields:
        same = getattr(bare, field.name) == getattr(event, field.name)
        assert not (same and is_content(field.type)), f"{field.name} stays"
        if not is_content(field.type) and not any(isinstance(kind, inspect.StructType) for kind in _inside(field.type)):
            assert same, f"{field.name} is structure"


def test_without_content_the_parts_have_none_either() -> None:
    fields_of: Any = MemoryFields(text="secret", topics=("secret",), metadata={"secret": 1}, user_id="ada")
    bare = without_content(MemoryAdded(write_id="w", memory_id="m", fields=fields_of))
    assert b"secret" not in msgspec.json.encode(bare)
    assert bare.fields == MemoryFields(text="", user_id="ada")


def test_facts_that_say_nothing_are_not_stored() -> None:
    assert next(field for field in fields(EntryAdded) if field.name == "facts").default is NO_FACTS
    assert msgspec.json.encode(NO_FACTS) == b"{}"
    assert ContentFacts() == NO_FACTS
