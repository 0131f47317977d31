"""Items of a store of LangGraph as records of long-term memory. Source: adapters LG-15.

An item is a record with its value as JSON. Where not the whole value is searched, each text that is has a record beside
it, so that an item is as near to a query as the nearest of its texts.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, Final

from langgraph.store.base import PutOp, SearchItem, get_text_at_path

from ledger.errors import InvalidInput
from ledger.long_term_memory.record_results import LongTermRecord
from ledger.ports.record_store import NOT_EMBEDDED

USER: Final = "langgraph.store"
#: Marks of records, among their entities: each item has the first.
ITEM: Final = "item"
SEARCHED: Final = "searched"
UNSEARCHED: Final = "unsearched"
#: The path of the whole value.
WHOLE: Final = "$"


def item_id(namespace: Sequence[str], key: str) -> str:
    """Return the id of the record of an item."""
    return "lgs-" + sha256(json.dumps([*namespace, key]).encode()).hexdigest()


def text_id(item: str, at: int) -> str:
    """Return the id of the record of the text of an item with this number, from 0."""
    return f"{item}.{at}"


def within(prefix: Sequence[str], mark: str) -> dict[str, Any]:
    """Return the filters of the records under a prefix that have a mark."""
    return {"user_id": {"eq": USER}, "topics": {"any": [_topic(prefix)]}, "entities": {"any": [mark]}}


def paths_of(index: Mapping[str, Any] | None) -> tuple[str, ...]:
    """Return the paths of the values that a store searches unless a `put` says otherwise.

    Raises:
        InvalidInput: *index* has another option than ``fields``.
    """
    given = index or {}
    for name in sorted(given.keys() - {"fields"}):
        message = "is not supported: the ledger embeds; open it with an `embedder`, and leave only `fields` here"
        raise InvalidInput("unsupported", message, field=f"index.{name}")
    return _checked(given.get("fields") or [WHOLE], "index.fields")


def records_of(op: PutOp, default: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Yield the record of an item that is put, and those of its texts; *default* are the paths to search.

    Raises:
        InvalidInput: the value is no JSON, or an option is wrong or not supported.
    """
    if op.ttl is not None:
        raise InvalidInput("unsupported", "is not supported; delete the item when it is due", field="ttl")
    value = _json(op.value)
    paths = () if op.index is False else default if op.index is None else _checked(op.index, "index")
    found = [text for path in paths if path != WHOLE for text in get_text_at_path(op.value, path)]
    texts = [text.replace("\x00", "␀") for text in dict.fromkeys(found) if text.strip()]
    item, namespace = item_id(op.namespace, op.key), list(op.namespace)
    marks = [SEARCHED] if WHOLE in paths else [] if texts else [UNSEARCHED]
    topics = [_topic(namespace[:end]) for end in range(len(namespace) + 1)]
    metadata = {"namespace": namespace, "key": op.key, "texts": len(texts)}
    strategy = "discrete" if WHOLE in paths else NOT_EMBEDDED
    yield {**_record(item, value, topics, [ITEM, *marks], metadata), "extraction_strategy": strategy}
    for at, text in enumerate(texts):
        yield _record(text_id(item, at), text, topics, [SEARCHED], {"item": item, "at": at})


def texts_of(record: LongTermRecord) -> int:
    """Return how many texts of an item have records."""
    return int(record.metadata["texts"])


def item_of(record: LongTermRecord, score: float | None = None) -> SearchItem:
    """Return the item of a record."""
    return SearchItem(
        namespace=tuple(record.metadata["namespace"]),
        key=record.metadata["key"],
        value=json.loads(record.text),
        created_at=record.created_at,
        updated_at=record.updated_at,
        score=score,
    )


def _topic(prefix: Sequence[str]) -> str:
    return "lgs-" + sha256(json.dumps(list(prefix)).encode()).hexdigest()[:32]


def _record(
    record_id: str, text: str, topics: Sequence[str], marks: Sequence[str], metadata: Mapping[str, Any]
) -> dict[str, Any]:
    own = {"id": record_id, "session_id": record_id}  # a session of its own, so that no merge takes two for one
    return {**own, "text": text, "user_id": USER, "topics": topics, "entities": marks, "metadata": metadata}


def _checked(paths: Any, field: str) -> tuple[str, ...]:
    if not isinstance(paths, list | tuple) or not all(isinstance(path, str) for path in paths):
        raise InvalidInput("wrong_type", "must be a list of paths such as `text` or `parts[*].text`", field=field)
    return tuple(paths)


def _json(value: Any) -> str:
    try:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False)
        is_same = json.loads(text) == value
    except (TypeError, ValueError):
        is_same = False
    if not is_same:
        raise InvalidInput("not_json", "must be a dict that JSON can hold; convert it before `put`", field="value")
    return text
