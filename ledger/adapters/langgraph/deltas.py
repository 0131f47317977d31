"""Channels that store only differences: what to make their values of. Source: adapters LG-7."""

from collections.abc import Sequence
from typing import Any

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import get_checkpoint_id

from ledger.adapters.langgraph.checkpoint_place import CheckpointPlace
from ledger.adapters.langgraph.checkpoint_reads import Reads
from ledger.adapters.langgraph.keys import names_in
from ledger.errors import LogCorrupted
from ledger.memory import MemoryLedger


async def delta_history(
    reads: Reads, ledger: MemoryLedger, config: RunnableConfig, channels: Sequence[str]
) -> dict[str, Any]:
    """Return, for each channel, the writes since the nearest ancestor that has a value, and that value.

    Of a thread that is deleted meanwhile there are none.
    """
    thread_id, namespace = names_in(config)
    target = await reads.place(ledger, thread_id, namespace, get_checkpoint_id(config)) if channels else None
    try:
        return await _history_before(reads, ledger, target, channels)
    except LogCorrupted:
        if target is None or await reads.is_still_at(ledger, target):
            raise
        return await delta_history(reads, ledger, config, channels)


async def _history_before(
    reads: Reads, ledger: MemoryLedger, target: CheckpointPlace | None, channels: Sequence[str]
) -> dict[str, Any]:
    writes: dict[str, list[Any]] = {channel: [] for channel in channels}
    seeds: dict[str, Any] = {}
    parent = target.stored["parent"] if target else None
    while target and parent and len(seeds) < len(writes):
        place = await reads.place(ledger, target.thread_id, target.namespace, parent)
        if place is None:
            break
        open_channels = writes.keys() - seeds.keys()
        written = [each for each in await reads.written(ledger, place) if each[1] in open_channels]
        of_channels = place.values
        values = {channel: of_channels.get(channel, (None, None))[1] for channel in open_channels}
        fetched = await reads.fetch(ledger, target.thread_id, [*values.values(), *(each[3] for each in written)])
        for task, channel, _, reference in reversed(written):
            writes[channel].append((task, channel, fetched.value(reference)))
        stored = ((channel, reference) for channel, reference in values.items() if reference is not None)
        seeds |= {channel: fetched.value(reference) for channel, reference in stored}
        parent = place.stored["parent"]
    return {
        channel: {"writes": writes[channel][::-1], **({"seed": seeds[channel]} if channel in seeds else {})}
        for channel in writes
    }
