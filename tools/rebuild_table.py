"""Write the table of rebuilds in docs/what-if.md: ``python -m tools.rebuild_table TRAJECTORIES.json``.

Each of 50 trajectories is recorded under each strategy, but for its last fifth. Then it is forked once for each other
strategy, the fork is rebuilt, and compared with the what-if; the last fifth is added, and it is compared again. What is
compared: the shown window, the active entries, the live summaries, and what the strategy counted.
"""

import asyncio
import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

from ledger.formats.importers import documents, read
from ledger.memory import MemoryLedger
from ledger.ports import SummaryText
from ledger.results import WhatIf
from ledger.session.entry_drafts import EntryDraft
from ledger.session.evolve import end_of_batch
from ledger.stores.in_memory import InMemoryStore
from projections.prompts import SummaryRequest
from projections.summaries import Summary

PAGE: Final = Path(__file__).parent.parent / "docs" / "what-if.md"
BEGIN: Final = "<!-- rebuilds: made by tools/rebuild_table.py -->\n\n"
END: Final = "\n<!-- end -->\n"
TRAJECTORIES: Final = 50
_PASSES: Final = {"interaction_threshold_qty": 3, "interaction_keep": 1}
STRATEGIES: Final[Mapping[str, dict[str, Any]]] = {
    "full": {"profile": "none"},
    "max_tokens": {"window": {"type": "max_tokens", "memory_max_tokens": 2_000}},
    "rolling": {"profile": "rolling", "size": 3, "max_summaries": 3},
    "token_threshold": {
        "window": {"type": "full"},
        "compactions": [{"type": "token_threshold", "max_tokens": 2_000, "max_entries": 12, "recent_window": 4}],
    },
    "summarizer": {"window": {"type": "full"}, "compactions": [{"type": "summarizer", **_PASSES, "cod_max_loops": 1}]},
    "neuralyzer": {"window": {"type": "full"}, "compactions": [{"type": "neuralyzer", **_PASSES}]},
    "progressive": {"window": {"type": "full"}, "compactions": [{"type": "progressive", "context_window": 2_000}]},
    "summarization": {
        "window": {"type": "full"},
        "compactions": [{"type": "summarization", "max_tokens": 2_000, "model": "m"}],
    },
}


class Pair(NamedTuple):
    """How many rebuilds there were, how many equalled the what-if, and the texts that were written for them."""

    rebuilds: int = 0
    equal: int = 0
    written: int = 0


class _ByRequest:
    """A summarizer whose text follows from the request."""

    method = "llm"
    model: str | None = "m"

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        text = f"The notes of request {request.request_hash[:8]}."
        return SummaryText(json.dumps({"missing_entities": [], "summary": text}) if request.form == "json" else text)


def trajectories(data: bytes, count: int = TRAJECTORIES) -> list[list[Sequence[EntryDraft]]]:
    """Return the batches of the first *count* conversations in *data*."""
    return [list(conversation.batches) for conversation in read(documents(data), name="airline")[:count]]


async def rebuilt(found: Sequence[Sequence[Sequence[EntryDraft]]]) -> dict[tuple[str, str], Pair]:
    """Return what the rebuild of each pair of strategies came to, over all conversations."""
    pairs: dict[tuple[str, str], Pair] = {}
    for batches in found:
        until = len(batches) - len(batches) // 5
        for before, config in STRATEGIES.items():
            async with MemoryLedger.open(
                namespace="pairs", store=InMemoryStore(), config=config, summarizer=_ByRequest()
            ) as ledger:
                await _say(ledger, "s", batches[:until])
                for after in STRATEGIES:
                    if after != before:
                        await ledger.fork("s", after)
                        pair = await _rebuilt(ledger, after, STRATEGIES[after], batches[until:])
                        known = pairs.get((before, after), Pair())
                        pairs[before, after] = Pair(*map(sum, zip(known, pair, strict=True)))
    return pairs


async def _rebuilt(ledger: MemoryLedger, session: str, config: dict[str, Any], rest: Sequence[Any]) -> Pair:
    asked = await ledger.update_config(session, config, replace=True, rebuild=True)
    await ledger.settle()
    progress = await ledger.get_rebuild(session)
    wanted = await ledger.what_if(session, config)  # every text is recorded: a missing one is an error
    written = progress.summaries if progress else 0
    if asked.rebuild_id is None or not await _is(ledger, session, wanted):
        return Pair(1, 0, written)
    await _say(ledger, session, rest)
    return Pair(1, int(await _is(ledger, session, await ledger.what_if(session, config))), written)


async def _say(ledger: MemoryLedger, session: str, batches: Sequence[Sequence[EntryDraft]]) -> None:
    for batch in batches:
        await ledger.add_entries(session, batch)
        await ledger.settle()


async def _is(ledger: MemoryLedger, session: str, wanted: WhatIf) -> bool:
    state, shown = end_of_batch(await ledger.get_state(session)), (await ledger.get_context(session)).window
    return (
        shown.tokens == wanted.window.tokens
        and list(map(_item, shown.items)) == list(map(_item, wanted.window.items))
        and state.config == wanted.config
        and list(state.window.entries) == list(wanted.state.window.entries)
        and list(map(_item, state.summaries.live)) == list(map(_item, wanted.state.summaries.live))
        and (state.items, dict(state.progress)) == (wanted.state.items, dict(wanted.state.progress))
    )


def _item(item: Any) -> object:
    return (item.key, item.text, item.tokens, item.covered, item.block) if isinstance(item, Summary) else item


def table(pairs: Mapping[tuple[str, str], Pair]) -> str:
    """Return *pairs* as a table: a row for each strategy before, a column for each one after."""
    names = list(STRATEGIES)
    rows = [f"| from \\ to | {' | '.join(names)} |", f"| --- |{' --- |' * len(names)}"]
    for before in names:
        cells = []
        for after in names:
            pair = pairs.get((before, after))
            cells.append(f"{pair.equal} of {pair.rebuilds}" if pair else "")
        rows.append(f"| {before} | {' | '.join(cells)} |")
    total = Pair(*map(sum, zip(*pairs.values(), strict=True)))
    rows += [
        "",
        f"{total.equal:,} of {total.rebuilds:,} rebuilds equal the what-if, and go on like it; a summarizer wrote",
        f"{total.written:,} texts for them.",
    ]
    return "\n".join(rows) + "\n"


def main() -> None:
    """Write the table."""
    pairs = asyncio.run(rebuilt(trajectories(Path(sys.argv[1]).read_bytes())))
    text = PAGE.read_text(encoding="utf-8")
    first = text.index(BEGIN) + len(BEGIN)
    PAGE.write_text(text[:first] + table(pairs) + text[text.index(END, first) :], encoding="utf-8")


if __name__ == "__main__":
    main()
