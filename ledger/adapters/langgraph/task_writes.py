"""What tasks wrote after a checkpoint, as it is kept and in the order of the SDK. Source: adapters LG-6."""

from collections.abc import Iterable
from typing import Any

import msgspec
from langgraph.checkpoint.base import writes_sort_key

from ledger.results import KeptValue


class TaskWrites(msgspec.Struct, frozen=True):
    """What a task wrote after a checkpoint, as it is kept, and the version of it."""

    version: int
    value: dict[str, Any]


def task_writes_of(kept: Iterable[KeptValue]) -> list[TaskWrites]:
    """Return what is kept as what tasks wrote."""
    return [TaskWrites(each.version, each.value) for each in kept]


def in_order(writes: Iterable[TaskWrites]) -> list[tuple[str, str, int, dict[str, Any]]]:
    """Return (task, channel, index, reference) of each value, in the order of the tasks; see adapters LG-6."""
    written: dict[tuple[str, int], tuple[str, str, dict[str, Any]]] = {}
    for each in sorted(writes, key=lambda own: own.version):
        for index, channel, reference in each.value["writes"]:
            place_of = (each.value["task"], index)
            if index < 0 or place_of not in written:
                written[place_of] = (each.value["path"], channel, reference)
    ordered = sorted(written.items(), key=lambda item: writes_sort_key(item[1][0], *item[0]))
    return [(task, channel, index, reference) for (task, index), (_, channel, reference) in ordered]
