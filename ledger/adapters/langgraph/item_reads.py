"""Reading items of a store of LangGraph: by key, by prefix and filter, by a query. Source: adapters LG-15."""

import operator
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias

from langgraph.store.base import GetOp, Item, ListNamespacesOp, SearchItem, SearchOp

from ledger.adapters.langgraph.store_items import ITEM, SEARCHED, UNSEARCHED, item_id, item_of, texts_of, within
from ledger.errors import InvalidInput
from ledger.long_term_memory import FoundRecord, LongTermMemory, LongTermRecord, PastRecords
from ledger.long_term_memory.record_results import shown
from projections.records.record_filters import parse

#: The records to read: of now, or of a past.
Records: TypeAlias = LongTermMemory | PastRecords
_PAGE: Final = 100
_COMPARE: Final[dict[str, Callable[[Any, Any], bool]]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


async def get(records: Records, op: GetOp) -> Item | None:
    """Return an item; None if there is none."""
    for record in await records.get_many([item_id(op.namespace, op.key)]):
        found = item_of(record)
        return Item(
            namespace=found.namespace,
            key=found.key,
            value=found.value,
            created_at=found.created_at,
            updated_at=found.updated_at,
        )
    return None


async def search(records: Records, op: SearchOp) -> list[SearchItem]:
    """Return items under a prefix: the oldest first, or with a query those nearest to it first.

    Raises:
        InvalidInput: the filter is wrong.
    """
    most = op.offset + op.limit
    found = await _ranked(records, op, most) if op.query else await _listed(records, op, ITEM, most)
    return found[op.offset : most]


async def namespaces(records: Records, op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the namespaces that have items, in order, each once."""
    found: set[tuple[str, ...]] = set()
    async for page in records.pages(parse(within((), ITEM))):
        names = [tuple(shown(record, namespace=None).metadata["namespace"]) for record in page]
        found |= {
            name[: op.max_depth]
            for name in names
            if all(_fits(name, each.match_type, each.path) for each in op.match_conditions or ())
        }
    return sorted(found)[op.offset : op.offset + op.limit]


async def _listed(records: Records, op: SearchOp, mark: str, most: int) -> list[SearchItem]:
    found: list[SearchItem] = []
    async for page in records.pages(parse(within(op.namespace_prefix, mark))):
        items = [item_of(shown(record, namespace=None)) for record in page]
        found += [item for item in items if _matches(item.value, op.filter)]
        if len(found) >= most:
            break
    return found[:most]


async def _ranked(records: Records, op: SearchOp, most: int) -> list[SearchItem]:
    """Return what is nearest to the query; where meaning ranks, items of which nothing is searched come after it."""
    found: dict[str, SearchItem] = {}
    is_by_meaning = False
    offset: int | None = 0
    while offset is not None and len(found) < most:
        body = {**within(op.namespace_prefix, SEARCHED), "text": op.query, "limit": _PAGE, "offset": offset}
        page = await records.search({**body, "recency_boost": False})
        for record, score in await _with_items(records, page.memories):
            item = item_of(record, score)
            if record.record_id not in found and _matches(item.value, op.filter):
                found[record.record_id] = item
        is_by_meaning = is_by_meaning or any(each.score_type != "keyword" for each in page.memories)
        offset = page.next_offset
    rest = most - len(found) if is_by_meaning else 0
    return [*found.values(), *(await _listed(records, op, UNSEARCHED, rest) if rest > 0 else [])]


async def _with_items(records: Records, found: Sequence[FoundRecord]) -> list[tuple[LongTermRecord, float | None]]:
    """Return the record of the item of each record that was found, with its score, in their order."""
    texts = {each.record.metadata["item"] for each in found if "item" in each.record.metadata}
    items = {record.record_id: record for record in await records.get_many(sorted(texts))} if texts else {}
    pairs: list[tuple[LongTermRecord, float | None]] = []
    for each in found:
        about = each.record.metadata
        record = items.get(about["item"]) if "item" in about else each.record
        if record is not None and about.get("at", -1) < texts_of(record):  # else it is of an earlier value
            pairs.append((record, each.score))
    return pairs


def _matches(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_compare(value.get(name), each) for name, each in (wanted or {}).items())


def _compare(value: Any, wanted: Any) -> bool:
    """Tell whether a value is as *wanted*; of an object only the fields that are named, as in LangGraph's own store."""
    if isinstance(wanted, list | tuple):
        is_as_long = isinstance(value, list) and len(value) == len(wanted)
        return is_as_long and all(map(_compare, value, wanted))
    if not isinstance(wanted, dict):
        return bool(value == wanted)
    if not any(name.startswith("$") for name in wanted):
        return isinstance(value, dict) and _matches(value, wanted)
    for name, bound in wanted.items():
        if name not in _COMPARE:
            raise InvalidInput("bad_filter", f"{name} is not one of {', '.join(_COMPARE)}", field="filter")
        try:
            if not _COMPARE[name](value, bound):
                return False
        except TypeError:  # of two types that have no order
            return False
    return True


def _fits(name: Sequence[str], kind: str, path: Sequence[str]) -> bool:
    if len(name) < len(path):
        return False
    part = name[: len(path)] if kind == "prefix" else name[len(name) - len(path) :]
    return all(wanted in ("*", own) for own, wanted in zip(part, path, strict=True))
