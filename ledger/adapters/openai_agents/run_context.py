"""The context of a session as items of the OpenAI Responses API that a model accepts. Source: adapters AD-6."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final, NamedTuple

from ledger.adapters.openai_agents.response_entries import item_of
from ledger.events import JsonObject
from projections.entries import Entry
from projections.tool_pairs import group_units

_REASONING: Final = "reasoning"


class _Shown(NamedTuple):
    """An item with the version of its entry, 0 of one without, and that of the oldest entry of its answer."""

    item: JsonObject
    version: int = 0
    answer: int = 0


def items_of(pieces: Sequence[tuple[Sequence[Entry], JsonObject]], limit: int | None) -> list[Any]:
    """Return the newest *limit* items of a context, or all, oldest first; more where the oldest answer would be cut.

    Each of *pieces* is some entries or, without any, a chat message that stands for others, such as a summary, or for
    the result that a call lacks. Results without their call are left out, and so is reasoning without what it led to.
    A provider takes an answer with its id only after its reasoning, so an answer after a gap goes without its id.
    """
    items = list(_pieces(pieces))
    first = 0 if limit is None else max(0, len(items) - limit)
    while 0 < first < len(items) and items[first].answer and items[first - 1].answer == items[first].answer:
        first -= 1
    return list(_whole([*_adjacent(items[first:])]))


def _pieces(pieces: Sequence[tuple[Sequence[Entry], JsonObject]]) -> Iterator[_Shown]:
    in_order = sorted((entry for entries, _ in pieces for entry in entries), key=lambda entry: entry.version)
    homes = {entry.version: unit.first_version for unit in group_units(in_order) for entry in unit.entries}
    asked: dict[str, _Shown] = {}
    for entries, message in pieces:
        shown = [_Shown(item_of(entry), entry.version, homes[entry.version]) for entry in entries]
        yield from shown
        calls = [each for each, entry in zip(shown, entries, strict=True) if entry.kind == "tool_call"]
        asked.update((call["id"], each) for call, each in zip(message.get("tool_calls", ()), calls, strict=True))
        if not entries and message["role"] == "tool":
            waiting = asked[message["tool_call_id"]]
            kind, call_id = f"{waiting.item['type']}_output", waiting.item["call_id"]
            yield _Shown({"type": kind, "call_id": call_id, "output": message["content"]}, 0, waiting.answer)
        elif not entries:
            yield _Shown(message)


def _adjacent(items: Iterable[_Shown]) -> Iterator[JsonObject]:
    """Yield *items*; of answers that follow a gap in the log, without their ids."""
    before, in_gap = 0, False
    for item, version, _ in items:
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
