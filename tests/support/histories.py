"""Histories of 0 to 60 batches with everything in them, and configs of every strategy, small enough to act often."""

import json
from datetime import UTC, datetime, timedelta
from itertools import groupby
from random import Random
from typing import Any, NamedTuple

from hypothesis import strategies as st

from ledger.events import (
    CompactionCompleted,
    CompactionContinued,
    CompactionDiscarded,
    CompactionFailed,
    EntryAdded,
)
from ledger.formats.state_json.state_export import export_state
from ledger.formats.state_json.state_import import import_state
from ledger.llm.tokenizers import entry_event
from ledger.session.commands import ClearSession, EditEntry, RemoveEntry
from ledger.session.evolve import SESSION
from ledger.session.views import plan_automatic
from projections import strategies
from projections.entries import Entry
from projections.log.history import HISTORY
from projections.memory_config import config
from projections.prompts import SummaryRequest
from projections.strategies.base import Hints
from projections.strategies.retrieved import hints_for
from tests.support.driver import Driven, Scripted, raises, text_of, too_long
from tests.support.pages import ROOT

EXAMPLES = ROOT / "examples" / "configs"
WINDOWS: dict[str, list[dict[str, Any]]] = {
    "full": [{}],
    "rolling": [
        {"size": 3, "unit": unit, "order": order}
        for unit in ("interaction", "entry")
        for order in ("newest_first", "chronological")
    ],
    "sliding_window": [
        {"max_tokens": 300},
        {"max_tokens": 150, "preserve": []},
        {"max_tokens": 500, "compression_threshold": 0.8, "target_ratio": 0.4, "preserve": ["tool_result", "context"]},
    ],
    "max_tokens": [
        {"memory_max_tokens": 200},
        {"memory_max_tokens": -1},
        {"memory_max_tokens": 600, "conditions": ["message.tokens < 150", "interaction.message_count < 6"]},
    ],
    "recall": [
        {"max_tokens": 300},
        {"max_tokens": 150, "recent_share": 0, "context_before": 0, "top_k": 5},
        {"max_tokens": 800, "include_erased": True},
    ],
}
COMPACTIONS: dict[str, list[dict[str, Any]]] = {
    "token_threshold": [
        {"max_entries": 6, "recent_window": 2, "min_entries_to_compress": 2},
        {"max_tokens": 400, "recent_window": 0, "min_entries_to_compress": 1, "max_summary_tokens": 20},
    ],
    "rolling_blocks": [{"size": 2, "max_summaries": 2}, {"size": 3, "unit": "entry", "include_first": True}],
    "summarization": [{"model": "small", "max_tokens": 300}, {"model": "small", "max_tokens": 500, "preserve": []}],
    "summarizer": [
        {"interaction_threshold_qty": 3, "interaction_keep": 1, "cod_max_loops": 2},
        {"interaction_threshold_qty": -1, "interaction_threshold_tokens": 300, "interaction_keep": 1},
        {"interaction_threshold_qty": -1, "interaction_threshold_tokens": -1, "on_tools_success_threshold": ["tool1"]},
    ],
    "neuralyzer": [
        {"interaction_threshold_qty": 4, "interaction_keep": 2},
        {"input_tokens_threshold": 400, "interaction_keep": 1},
    ],
    "progressive": [{"context_window": 400}, {"context_window": 1000, "threshold": 0.5, "keep_ratio": 0.1}],
}


def _of_example(kind: str) -> list[dict[str, Any]]:
    """Return the fields of the strategy *kind* in its example config, with numbers so small that it acts often."""
    path = EXAMPLES / f"{kind}.json"
    if not path.exists():  # the tests of the pages ask for it, unless another package has the strategy
        return [{}]
    loaded = config.load(json.loads(path.read_bytes()))
    (found,) = (part for part in (loaded.window, *loaded.compactions) if part.type == kind)
    given = found.model_dump(mode="json", exclude={"type", "key"}).items()
    return [{name: min(value, _most(name)) if type(value) is int else value for name, value in given}]


def _most(name: str) -> int:
    return 300 if "token" in name else 3


# a strategy that is not listed above is tried with its example
for listed, registry in ((WINDOWS, strategies.WINDOWS), (COMPACTIONS, strategies.COMPACTIONS)):
    listed.update({kind: _of_example(kind) for kind in registry if kind not in listed})


class Step(NamedTuple):
    """One thing that happens: a batch of entries, or a change to what is there."""

    kind: str
    notation: str = ""
    #: Which of the active entries it is about, from the oldest (0) to the newest (1).
    place: float = 1
    #: Days from the first one on, by the client's clock; none if it has no clock.
    day: int | None = None


_TOKENS = st.integers(0, 200)
_PLAIN = st.builds("{}{}".format, st.sampled_from("uuuaaasxipq"), _TOKENS)
_TOOL = st.builds("{}{}:{}".format, st.sampled_from("cccrrr"), st.integers(1, 4), _TOKENS)
_BATCH = st.lists(_PLAIN | _TOOL, min_size=1, max_size=4).map(" ".join)
_PARALLEL = st.permutations(["r1", "r2", "r3"]).map(lambda results: f"c1 c2 c3 {' '.join(results)}")
_DAYS = st.none() | st.integers(0, 400)
_PLACES = st.sampled_from([1, 1, 0, 0.3, 0.7])
_ADD = st.builds(lambda items, day: Step("add", f"[{items}]", day=day), _BATCH | _PARALLEL, _DAYS)
_STEP = st.one_of(
    *[_ADD] * 9,
    st.builds(lambda kind, place: Step(kind, place=place), st.sampled_from(["edit", "remove"]), _PLACES),
    st.sampled_from([Step("clear"), Step("import")]),
)
STEPS = st.lists(_STEP, max_size=60)
#: With answers of models that come later, and other hands that erase what is under way.
INTERRUPTED = st.lists(
    st.one_of(
        *[_ADD] * 5,
        st.builds(lambda kind, place: Step(kind, place=place), st.sampled_from(["answer", "erase"]), _PLACES),
        _STEP,
    ),
    max_size=60,
)


def windows(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from([{"type": kind, **fields} for fields in WINDOWS[kind]])


def compactions(kind: str) -> st.SearchStrategy[dict[str, Any]]:
    return st.sampled_from([{"type": kind, **fields} for fields in COMPACTIONS[kind]])


@st.composite
def configs(draw: st.DrawFn, *, window: str | None = None, compaction: str | None = None) -> dict[str, Any]:
    """Return a config of one window and at most two compactions that may stand together."""
    chosen = draw(windows(window or draw(st.sampled_from(sorted(WINDOWS)))))
    kinds = (
        [compaction] if compaction else draw(st.lists(st.sampled_from(sorted(COMPACTIONS)), max_size=2, unique=True))
    )
    listed = [draw(compactions(kind)) for kind in kinds]
    for item in listed:
        if chosen["type"] == "rolling" and item["type"] == "rolling_blocks":
            item.update(unit=chosen["unit"], size=min(item["size"], chosen["size"]))
    return {"window": chosen, "compactions": listed}


def some_config(random: Random) -> dict[str, Any]:
    """Return a config of one window and at most two compactions, as `configs` draws them."""
    kinds = random.sample(sorted(COMPACTIONS), random.randint(0, 2))
    window = random.choice(sorted(WINDOWS))
    chosen = {"type": window, **random.choice(WINDOWS[window])}
    listed = [{"type": kind, **random.choice(COMPACTIONS[kind])} for kind in kinds]
    for item in listed:
        if chosen["type"] == "rolling" and item["type"] == "rolling_blocks":
            item.update(unit=chosen["unit"], size=min(item["size"], chosen["size"]))
    return {"window": chosen, "compactions": listed}


def short(request: SummaryRequest) -> str:
    return json.dumps({"missing_entities": [], "summary": "short"}) if request.form == "json" else "short"


def mixed(request: SummaryRequest) -> str:
    """Answer well, too long, with nothing, or not at all, by what is asked."""
    choice = int(request.request_hash[:4], 16) % 5
    return (short, short, too_long, raises, lambda _: text_of(0))[choice](request)


def happened(config: dict[str, Any], steps: list[Step], script: Any = short) -> Driven:
    """Return the session after *steps*, its compactions carried out after each batch."""
    session = Driven(config, Scripted(script))
    for step in steps:
        take(session, step)
        if step.kind == "add":
            session.settle()
    return session


def take(session: Driven, step: Step) -> None:
    """Apply *step*, and nothing else."""
    active = session.state.window.entries
    chosen = active[round(step.place * (len(active) - 1))] if active else None
    match step.kind:
        case "add":
            day = None if step.day is None else datetime(2020, 1, 1, tzinfo=UTC) + timedelta(step.day)
            session.append(step.notation, created_at=day)
        case "clear":
            session.do(ClearSession(next(session.ids)))
        case "import":
            restore(session, exported(session))
        case "edit" if chosen is not None:
            session.do(
                EditEntry(
                    write_id=next(session.ids),
                    entry_id=chosen.entry_id,
                    content="u7 edited",
                    tokens=7,
                    tokenizer="caller",
                )
            )
        case "remove" if chosen is not None:
            session.do(RemoveEntry(next(session.ids), chosen.entry_id))


def exported(session: Driven) -> dict[str, Any]:
    return export_state("session", session.state, HISTORY.fold(session.events))


def restore(session: Driven, state: dict[str, Any]) -> None:
    """Replace the session's state by an exported one."""
    write_id, tokenizer = next(session.ids), session.state.config.tokenizer
    command, _ = import_state(
        state,
        write_id=write_id,
        added=lambda draft: entry_event(draft, write_id=write_id, entry_id=draft.entry_id or "", tokenizer=tokenizer),
        new_id=lambda: next(session.ids),
    )
    session.do(command)


def settled(session: Driven) -> bool:
    """Return whether all planned compactions took effect, and nothing else did (R-WIF-10)."""
    state = SESSION.initial
    added: set[str] = set()
    for _, batch in groupby(session.events, key=lambda event: event.payload.write_id):
        imported = False  # an import adds again what was there, write by write
        for event in batch:
            items = state.items
            state = SESSION.evolve(state, event)
            if isinstance(event.payload, EntryAdded):
                imported = imported or event.payload.entry_id in added
                added.add(event.payload.entry_id)
            if isinstance(event.payload, CompactionContinued) and state.items != items:
                return False  # it goes on from counts of entries that left before the import
            if isinstance(event.payload, CompactionFailed | CompactionDiscarded):
                return False
            if isinstance(event.payload, CompactionCompleted) and event.payload.strategy == "imported":
                return False
        if imported and any(plan_automatic(state, compaction) for compaction in state.config.compactions):
            return False  # importing a state compacts nothing (R-000-15), a replay does after each batch (R-WIF-3)
    return True


def recallable(session: Driven) -> dict[int, Entry]:
    past = HISTORY.fold(session.events).current()
    return {past_entry.version: past_entry for past_entry in past if past_entry.status in {"active", "covered"}}


def hints(session: Driven) -> Hints:
    return hints_for(session.state.config.window, recallable(session))
