"""A store of LangGraph that keeps its items as records of long-term memory. Source: adapters LG-15."""

import json
import operator
from collections.abc import Callable, Iterable, Mapping, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any, Final, Self

from langgraph.store.base import BaseStore, GetOp, Item, ListNamespacesOp, Op, PutOp, Result, SearchItem, SearchOp

from ledger.adapters.opening import OpenedInBlocks, OpenedLedger
from ledger.errors import InvalidInput, RecordNotFound
from ledger.long_term_memory.results import LongTermRecord, shown
from ledger.memory import MemoryLedger
from projections.record_filters import parse

_USER: Final = "langgraph.store"
_WHAT: Final = "the store"
_PAGE: Final = 100
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


class LedgerStore(OpenedInBlocks, BaseStore):
    """Long-term memory of LangGraph in the ledger: each item is a record, with its past values in the log.

        async with LedgerStore.open() as store:
            graph = builder.compile(store=store)

    An item has no time to live, and its whole value is searched: ``ttl`` and ``index`` of `put` are refused.
    """

    supports_ttl = False

    def __init__(self, ledger: MemoryLedger | OpenedLedger) -> None:
        self._opened = ledger if isinstance(ledger, OpenedLedger) else OpenedLedger(ledger=ledger, what=_WHAT)

    @classmethod
    def open(
        cls,
        database_url: str | None = None,
        namespace: str | None = None,
        *,
        data_dir: Path | str | None = None,
        actor: str | None = None,
        embedder: Any = None,
        store: Any = None,
    ) -> Self:
        """Return a store that opens the ledger at the beginning of a ``with`` or ``async with`` block."""
        names = {"data_dir": data_dir, "actor": actor, "embedder": embedder, "store": store}
        given = {name: value for name, value in names.items() if value}
        return cls(OpenedLedger(database_url, namespace, what=_WHAT, **given))

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Do what `abatch` does, without an event loop."""
        return self._opened.call(_batch, list(ops))

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """Read, then write: all items that are put in one write, then all deletions in one.

        Raises:
            InvalidInput: a value is not JSON or too large, or an option is not supported; nothing is written.
        """
        return await self._opened.run(_batch, list(ops))


async def _batch(ledger: MemoryLedger, ops: Sequence[Op]) -> list[Result]:
    results: list[Result] = []
    changes: dict[str, PutOp] = {}
    for op in ops:
        found: Result = None
        match op:
            case GetOp():
                found = await _get(ledger, op)
            case SearchOp():
                found = await _search(ledger, op)
            case ListNamespacesOp():
                found = await _namespaces(ledger, op)
            case PutOp():
                changes[_id(op.namespace, op.key)] = op
            case _:
                raise InvalidInput("bad_operation", f"{type(op).__name__} is not an operation of a store", field="ops")
        results.append(found)
    records = [_record(record_id, op) for record_id, op in changes.items() if op.value is not None]
    deleted = [record_id for record_id, op in changes.items() if op.value is None]
    if records:
        await ledger.long_term.create(records, deduplicate=False)
    if deleted:
        await ledger.long_term.delete(deleted)
    return results


def _id(namespace: Sequence[str], key: str) -> str:
    return "lgs-" + sha256(json.dumps([*namespace, key]).encode()).hexdigest()


def _topic(prefix: Sequence[str]) -> str:
    return "lgs-" + sha256(json.dumps(list(prefix)).encode()).hexdigest()[:32]


def _record(record_id: str, op: PutOp) -> dict[str, Any]:
    if op.ttl is not None:
        raise InvalidInput("unsupported", "is not supported; delete the item when it is due", field="ttl")
    if op.index is not None:
        raise InvalidInput("unsupported", "is not supported: the whole value is searched; leave it out", field="index")
    try:
        text = json.dumps(op.value, ensure_ascii=False, allow_nan=False)
        is_same = json.loads(text) == op.value
    except (TypeError, ValueError):
        is_same = False
    if not is_same:
        raise InvalidInput("not_json", "must be a dict that JSON can hold; convert it before `put`", field="value")
    namespace = list(op.namespace)
    return {
        "id": record_id,
        "text": text,
        "user_id": _USER,
        "session_id": record_id,  # so that no merge takes items with equal values for one
        "topics": [_topic(namespace[:end]) for end in range(len(namespace) + 1)],
        "metadata": {"namespace": namespace, "key": op.key},
    }


def _item(record: LongTermRecord, score: float | None = None) -> SearchItem:
    return SearchItem(
        namespace=tuple(record.metadata["namespace"]),
        key=record.metadata["key"],
        value=json.loads(record.text),
        created_at=record.created_at,
        updated_at=record.updated_at,
        score=score,
    )


async def _get(ledger: MemoryLedger, op: GetOp) -> Item | None:
    try:
        found = _item(await ledger.long_term.get(_id(op.namespace, op.key)))
    except RecordNotFound:
        return None
    return Item(
        namespace=found.namespace,
        key=found.key,
        value=found.value,
        created_at=found.created_at,
        updated_at=found.updated_at,
    )


def _within(prefix: Sequence[str]) -> dict[str, Any]:
    return {"user_id": {"eq": _USER}, "topics": {"any": [_topic(prefix)]}}


async def _search(ledger: MemoryLedger, op: SearchOp) -> list[SearchItem]:
    found: list[SearchItem] = []
    most = op.offset + op.limit
    if op.query:
        offset: int | None = 0
        while offset is not None and len(found) < most:
            body = {**_within(op.namespace_prefix), "text": op.query, "limit": _PAGE, "offset": offset}
            page = await ledger.long_term.search({**body, "recency_boost": False})
            items = [_item(each.record, each.score) for each in page.memories]
            found += [item for item in items if _matches(item.value, op.filter)]
            offset = page.next_offset
    else:
        async for records in ledger.long_term.pages(parse(_within(op.namespace_prefix))):
            items = [_item(shown(record, namespace=None)) for record in records]
            found += [item for item in items if _matches(item.value, op.filter)]
            if len(found) >= most:
                break
    return found[op.offset : most]


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_compare(value.get(name), each) for name, each in (wanted or {}).items())


def _compare(value: Any, wanted: Any) -> bool:
    if not isinstance(wanted, dict) or not any(name.startswith("$") for name in wanted):
        return bool(value == wanted)
    for name, bound in wanted.items():
        if name not in _COMPARE:
            raise InvalidInput("bad_filter", f"{name} is not one of {', '.join(_COMPARE)}", field="filter")
        try:
            if not _COMPARE[name](value, bound):
                return False
        except TypeError:  # of two types that have no order
            return False
    return True


async def _namespaces(ledger: MemoryLedger, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    found: set[tuple[str, ...]] = set()
    async for records in ledger.long_term.pages(parse(_within(()))):
        names = [tuple(shown(record, namespace=None).metadata["namespace"]) for record in records]
        found |= {
            name[: op.max_depth]
            for name in names
            if all(_fits(name, each.match_type, each.path) for each in op.match_conditions or ())
        }
    return sorted(found)[op.offset : op.offset + op.limit]


def _fits(name: Sequence[str], kind: str, path: Sequence[str]) -> bool:
    if len(name) < len(path):
        return False
    part = name[: len(path)] if kind == "prefix" else name[len(name) - len(path) :]
    return all(wanted in ("*", own) for own, wanted in zip(part, path, strict=True))
