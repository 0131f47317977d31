"""The context of a session as items of the OpenAI Responses API that a model accepts. Source: adapters AD-6."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

from ledger.adapters.openai_items import item_of
from ledger.events import JsonObject
from projections.entries import Entry

_REASONING: Final = "reasoning"


def items_of(pieces: Sequence[tuple[Sequence[Entry], JsonObject]], limit: int | None) -> list[Any]:
    """Return the newest *limit* items of a context, or all, oldest first.

    Each of *pieces* is some entries or, without any, a chat message that stands for others, such as a summary. Results
    without their call are left out, and so is reasoning without what it led to. A provider takes an answer with its id
    only after its reasoning, so an answer after a gap goes without its id.
    """
    items = list(_pieces(pieces))
    shown = items if limit is None else items[max(0, len(items) - limit) :]
    return list(_whole([*_adjacent(shown)]))


def _pieces(pieces: Iterable[tuple[Sequence[Entry], JsonObject]]) -> Iterator[tuple[JsonObject, int]]:
    """Yield each item with the version of its entry; 0 of a message without one."""
    for entries, message in pieces:
        yield from ((item_of(entry), entry.version) for entry in entries)
        if not entries:
            yield message, 0


def _adjacent(items: Iterable[tuple[JsonObject, int]]) -> Iterator[JsonObject]:
    """Yield *items*; of answers that follow a gap in the log, without their ids."""
    before, in_gap = 0, False
    for item, version in items:
        if not _is_answer(item):
            in_gap = False
        elif version != before + 1:
            in_gap = item.get("type") != _REASONING
        elif item.get("type") == _REASONING:
            in_gap = False
        before = version
        yield {name: value for name, value in item.items() if name != "id"} if in_gap else item


def _whole(items: Sequence[JsonObject]) -> Iterator[JsonObject]:
    calls: set[str] = set()
    for at, item in enumerate(items):
        kind, call_id = str(item.get("type")), str(item.get("call_id"))  # an item may have anything there
        if kind == _REASONING and not (at + 1 < len(items) and _is_answer(items[at + 1])):
            continue
        if kind.endswith("_output") and call_id not in calls:
            continue
        if kind.endswith("_call"):
            calls.add(call_id)
        yield item


def _is_answer(item: JsonObject) -> bool:
    """Tell whether a model made *item*."""
    role, kind = item.get("role"), str(item.get("type"))
    return role == "assistant" or (role is None and not kind.endswith("_output"))


__all__ = ["items_of"]
