"""Compute what each strategy shows of examples/coding_agent.jsonl, under each of examples/configs/*.json."""

import asyncio
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final

import msgspec

from ledger.events import EntryAdded, RecordedEvent
from ledger.events.strict_json import parse
from ledger.formats.importers import documents, read
from ledger.llm.prices import load_prices, spending
from ledger.memory import MemoryLedger
from ledger.replay.backtest.asking import entries_behind
from ledger.replay.backtest.shown import Follower
from ledger.replay.what_if.config_replay import replay
from ledger.session.state import SessionState
from ledger.stores.in_memory import InMemoryStore
from projections.entries import Entry
from projections.memory_config import config as memory_config
from projections.strategies import COMPACTIONS, WINDOWS
from projections.window import Window

ROOT: Final = Path(__file__).parents[1]
SESSION: Final = ROOT / "examples" / "coding_agent.jsonl"
CONFIGS: Final = ROOT / "examples" / "configs"

#: The state of an entry at a model call: not there yet, neither shown nor summarised, behind a shown summary, shown.
AHEAD, LEFT_OUT, BEHIND, SHOWN = range(4)


class Raster(msgspec.Struct, frozen=True):
    """For each model call, in order: the state of each entry, oldest first, and the tokens shown."""

    calls: tuple[tuple[int, ...], ...]
    tokens: tuple[int, ...]
    compactions: int
    model_calls: int
    model_tokens: int

    @property
    def digest(self) -> str:
        """A digest of all fields."""
        return sha256(msgspec.json.encode(self)).hexdigest()


async def recorded() -> tuple[RecordedEvent, ...]:
    """Return the events of the session, as an import records them."""
    async with MemoryLedger.open(namespace="figures", store=InMemoryStore(), config={"profile": "none"}) as ledger:
        found = read(documents(SESSION.read_bytes()), name=SESSION.stem)
        (name,) = (await ledger.import_conversations(found)).session_ids
        return tuple(await ledger.get_events(name))


def raster(strategy: str, events: tuple[RecordedEvent, ...]) -> Raster:
    """Return what the example config of *strategy* shows at each model call; the length of summaries is estimated."""
    config = memory_config.load(parse((CONFIGS / f"{strategy}.json").read_bytes()))
    follower = Follower(events, config)
    windows: list[tuple[int, Window]] = []

    def observe(state: SessionState, entries: Mapping[int, Entry]) -> None:
        window = follower.window(state, entries)
        if window is not None:
            windows.append((state.version, window))

    done = replay(events, config, {}, on_miss="estimate", observe=observe)
    standing, spent = entries_behind(done), spending(done.completed, load_prices())
    versions = [event.version for event in events if isinstance(event.payload, EntryAdded)]
    calls = []
    for now, window in windows:
        shown = {entry.version for entry in window.entries}
        behind = {version for summary in window.summaries for version in standing[summary.summary_id]}
        calls.append(tuple(_state(version, now, shown, behind) for version in versions))
    return Raster(
        calls=tuple(calls),
        tokens=tuple(window.tokens for _, window in windows),
        compactions=spent.compactions,
        model_calls=spent.model_calls,
        model_tokens=spent.input_tokens + spent.output_tokens,
    )


def _state(version: int, now: int, shown: set[int], behind: set[int]) -> int:
    if version > now:
        return AHEAD
    return SHOWN if version in shown else BEHIND if version in behind else LEFT_OUT


def all_rasters() -> dict[str, Raster]:
    """Return what each strategy shows, windows first."""
    events = asyncio.run(recorded())
    return {strategy: raster(strategy, events) for strategy in (*WINDOWS, *COMPACTIONS)}
