"""Random histories through the public API."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from random import Random
from typing import Any, Final, NamedTuple

from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.ports import Store, SummaryText
from ledger.session.evolve import end_of_batch
from projections.entries import Entry
from projections.prompts import SummaryRequest
from projections.summaries import Summary
from tests.support.driver import SetClock, too_long
from tests.support.histories import COMPACTIONS, WINDOWS, short
from tests.support.ledgers import ledger_over

WORDS: Final = (
    *("rivet", "anchor", "lantern", "meadow", "copper", "violin"),
    *("harbour", "saddle", "tundra", "walnut", "orchid", "glacier"),
)
TTL_S: Final = 60


class Batch(NamedTuple):
    """What happens next: entries are added, the active entry at *place* changes, all go, or another config counts."""

    kind: str
    entries: tuple[dict[str, Any], ...] = ()
    place: float = 0.0
    text: str = ""
    config: dict[str, Any] | None = None


class Asked:
    """A summarizer that answers by what it is asked, and remembers it."""

    method = "llm"
    model: str | None = "asked"

    def __init__(self) -> None:
        self.hashes: list[str] = []

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        self.hashes.append(request.request_hash)
        return SummaryText(too_long(request) if int(request.request_hash[:4], 16) % 6 == 0 else short(request))


class Life(NamedTuple):
    """A session of a ledger, and what its summarizer was asked."""

    ledger: MemoryLedger
    store: Store
    namespace: str
    session: str
    asked: Asked
    clock: SetClock


def config_of(dice: Random, window: str | None = None) -> dict[str, Any]:
    """Return a config of one *window* and at most two compactions that may stand together."""
    window = window or dice.choice(sorted(WINDOWS))
    chosen = {"type": window, **dice.choice(WINDOWS[window])}
    if window == "recall":
        # with b the mean length of all texts of the namespace counts, also of a fork's parent and of earlier lives
        chosen["ranking"] = {"b": 0}
    listed = []
    for kind in dice.sample(sorted(COMPACTIONS), dice.choice([0, 1, 1, 1, 2])):
        compaction = {"type": kind, **dice.choice(COMPACTIONS[kind])}
        if kind == "rolling_blocks" and window == "rolling":
            compaction |= {"unit": chosen["unit"], "size": min(compaction["size"], chosen["size"])}
        listed.append(compaction)
    return {"window": chosen, "compactions": listed}


def history(
    dice: Random, count: int, *, first: int = 0, new_config: Callable[[], dict[str, Any]] | None = None
) -> list[Batch]:
    """Return *count* steps; entries are named by their place among all, from *first* on.

    With *new_config*, which returns one, some steps change the config.
    """
    steps, names, calls = [], first, 0
    for number in range(count):
        chance = dice.random()
        if chance < 0.8 or number == 0:
            entries = []
            for _ in range(dice.choice([1, 1, 2, 3])):
                names += 1
                calls += 1
                entries.append(_entry(dice, names, f"c{names}"))
                if entries[-1]["kind"] == "tool_call" and dice.random() < 0.8:
                    names += 1
                    entries.append(_result(dice, names, entries[-1]))
            steps.append(Batch("add", tuple(entries)))
        elif chance < 0.88:
            steps.append(Batch("edit", place=dice.random(), text=_text(dice)))
        elif chance < 0.92 or (chance < 0.96 and new_config is None):
            steps.append(Batch("remove", place=dice.random()))
        elif chance < 0.96 and new_config is not None:
            steps.append(Batch("config", config=new_config()))
        else:
            steps.append(Batch("clear"))
    return steps


def _text(dice: Random) -> str:
    return " ".join(dice.choices(WORDS, k=dice.randint(1, 6)))


def _entry(dice: Random, name: int, call: str) -> dict[str, Any]:
    moment = datetime(2020, 1, 1, tzinfo=UTC) + timedelta(hours=7 * name)
    base = {"entry_id": f"e{name}", "created_at": moment, "tokens": dice.randint(0, 150), "content": _text(dice)}
    match dice.choice(["user", "user", "user", "assistant", "assistant", "system", "context", "call"]):
        case "context":
            return {**base, "kind": "context", "metadata": {"source": "file.txt"}}
        case "call":
            return {
                **base,
                "kind": "tool_call",
                "tool_name": dice.choice(["tool1", "tool2"]),
                "tool_call_id": call,
                "arguments": {"q": base["content"]},
            }
        case role:
            return {**base, "kind": "message", "role": role}


def _result(dice: Random, name: int, call: dict[str, Any]) -> dict[str, Any]:
    plain = {key: value for key, value in _entry(dice, name, "").items() if key not in {"role", "metadata"}}
    plain.pop("arguments", None)
    return {
        **plain,
        "kind": "tool_result",
        "tool_name": call["tool_name"],
        "tool_call_id": call["tool_call_id"],
        "tool_status": dice.choice([None, "ok", "error"]),
    }


def begin(store: Store, namespace: str, config: dict[str, Any]) -> Life:
    """Return a session that has not begun."""
    asked, clock = Asked(), SetClock()
    clock.moment = SystemClock().now()
    ledger = ledger_over(store, namespace=namespace, config=config, summarizer=asked, clock=clock)
    return Life(ledger, store, namespace, "s", asked, clock)


async def live(life: Life, steps: list[Batch]) -> None:
    """Take *steps*, and wait after each until its compactions have ended."""
    for step in steps:
        await take(life, step)


async def take(life: Life, step: Batch) -> None:
    """Take one step, and wait until its compactions have ended."""
    ledger, session = life.ledger, life.session
    if step.kind == "add":
        await ledger.add_entries(session, step.entries)
    elif step.kind == "clear":
        await ledger.clear_session(session)
    elif step.kind == "config":
        await ledger.update_config(session, step.config, replace=True)
    else:
        active = await ledger.get_active_entries(session)
        if active:
            entry_id = active[round(step.place * (len(active) - 1))].entry_id
            if step.kind == "edit":
                await ledger.edit_entry(session, entry_id, step.text)
            else:
                await ledger.remove_entry(session, entry_id)
    await ledger.settle()


async def shown(life: Life) -> dict[str, Any]:
    """Return all that a model is shown of the session, and its live summaries; nothing in it names a version."""
    context = await life.ledger.get_context(life.session)
    state = end_of_batch(await life.ledger.get_state(life.session))
    return {
        "text": context.text,
        "messages": context.messages,
        "tokens": context.tokens,
        "items": [_seen(item) for item in context.window.items],
        "summaries": [_seen(summary) for summary in state.summaries.live],
    }


def _seen(item: Entry | Summary) -> tuple[Any, ...]:
    if isinstance(item, Summary):
        block = item.block and (item.block.number, item.block.first_item, item.block.last_item)
        return item.key, item.text, item.tokens, block, item.starts_at, item.ends_at
    called = item.tool_name, item.tool_call_id, item.tool_status, item.arguments
    said = item.entry_id, item.kind, item.role, item.content, item.tokens, item.tokenizer
    return *said, *called, item.metadata, item.created_at
