"""In memory equals PostgreSQL, whatever is done; and every version reads as the fold up to it. Source: trust P-8."""

import asyncio
import secrets
from collections.abc import Coroutine, Iterator
from datetime import timedelta
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test
from msgspec.structs import replace

from ledger.application import services
from ledger.history import snapshots, state_loading, stored_snapshots
from ledger.llm.compaction.compaction_result import CompactionResult
from ledger.memory import MemoryLedger
from ledger.results import Added, AddedEntry
from ledger.session.evolve import SESSION
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.support.databases import Server
from tests.support.small_pages import without_content
from tests.support.twins import SESSION_ID, START, Twin, check_folds, check_twins

pytestmark = pytest.mark.postgres

WORDS = ("login", "token", "cookie", "why does it fail", "deploy on Friday", "naïve 記憶", "retry twice", "ok")
CONFIGS: tuple[dict[str, Any], ...] = (
    {"max_entries": 4},
    {"max_entries": 9, "recent_window": 3},
    {"max_tokens": 40},
    {"auto_compress": False},
    {"profile": "rolling_interactions", "size": 2, "max_summaries": 2, "tokenizer": "approximate"},
    {
        "profile": "rolling_interactions",
        "size": 2,
        "unit": "entry",
        "order": "chronological",
        "tokenizer": "approximate",
    },
    {"profile": "memory_manager", "max_entries": 5, "recent_window": 1, "tokenizer": "approximate"},
    {"profile": "none", "tokenizer": "approximate"},
)

texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=12).map(" ".join)
ids = st.one_of(st.none(), st.sampled_from(["a", "b", "c"]))


@st.composite
def entries(draw: st.DrawFn) -> dict[str, Any]:
    """Draw an entry with its own time, so that no summary speaks of when it was recorded."""
    kind = draw(st.sampled_from(["user", "assistant", "system", "tool_call", "tool_result", "context"]))
    entry: dict[str, Any] = {"content": draw(texts), "entry_id": draw(ids)}
    if kind in {"user", "assistant", "system"}:
        entry["role"] = kind
    else:
        entry |= {"kind": kind, "tool_name": "search", "tool_call_id": draw(st.sampled_from(["t1", "t2", None]))}
    entry["created_at"] = START + timedelta(minutes=draw(st.integers(0, 99)))
    return entry


batches = st.lists(entries(), min_size=1, max_size=4)


class Twins(RuleBasedStateMachine):
    """Does the same to both, and compares the answers at once and the histories at the end."""

    runner: asyncio.Runner
    postgres: PostgresStore

    def __init__(self) -> None:
        super().__init__()
        namespace = f"twins-{secrets.token_hex(6)}"
        self.twins = [Twin(InMemoryStore(), namespace), Twin(self.postgres, namespace)]
        self.sent: dict[str, list[dict[str, Any]]] = {}

    def run(self, work: Coroutine[Any, Any, Any]) -> Any:
        return self.runner.run(work)

    def both(self, act: Any) -> Any:
        answers = [self.run(twin.do(act)) for twin in self.twins]
        assert comparable(answers[0]) == comparable(answers[1])
        return answers[0]

    @rule(batch=batches)
    def add(self, batch: list[dict[str, Any]]) -> None:
        self.both(lambda ledger: ledger.add_entries(SESSION_ID, batch))

    @rule(entry=entries())
    def add_one(self, entry: dict[str, Any]) -> None:
        self.both(lambda ledger: ledger.add_entries(SESSION_ID, [entry]))

    @rule(batch=batches, key=st.sampled_from(["k1", "k2", "k3"]))
    def add_with_key(self, batch: list[dict[str, Any]], key: str) -> None:
        self.sent.setdefault(key, batch)
        self.both(lambda ledger: ledger.add_entries(SESSION_ID, batch, idempotency_key=key))

    @precondition(lambda self: self.sent)
    @rule(data=st.data())
    def retry(self, data: st.DataObject) -> None:
        key, batch = data.draw(st.sampled_from(sorted(self.sent.items(), key=lambda pair: pair[0])))
        self.both(lambda ledger: ledger.add_entries(SESSION_ID, batch, idempotency_key=key))

    @rule(force=st.booleans())
    def compress(self, force: bool) -> None:
        self.both(lambda ledger: ledger.compress(SESSION_ID, force=force))

    @rule(end=st.sampled_from([False, False, True]))
    def clear(self, end: bool) -> None:
        self.both(lambda ledger: ledger.clear_session(SESSION_ID, end=end))

    @rule(changes=st.sampled_from(CONFIGS))
    def change_config(self, changes: dict[str, Any]) -> None:
        self.both(lambda ledger: ledger.update_config(SESSION_ID, changes))

    @rule(place=st.integers(0, 5), text=texts)
    def edit(self, place: int, text: str) -> None:
        self.both(lambda ledger: edit(ledger, place, text))

    @rule(place=st.integers(0, 5))
    def remove(self, place: int) -> None:
        self.both(lambda ledger: remove(ledger, place))

    @rule()
    def forget_caches(self) -> None:
        for twin in self.twins:
            self.run(twin.reopen())

    @rule()
    def read_the_state(self) -> None:
        self.both(lambda ledger: ledger.get_context_for_llm(SESSION_ID))

    @invariant()
    def the_versions_are_the_same(self) -> None:
        heads = [self.run(twin.store.events.head(twin.stream))[0] for twin in self.twins]
        assert heads[0] == heads[1]

    def teardown(self) -> None:
        self.run(check_twins(*self.twins))


def comparable(answer: Any) -> Any:
    """Return what both twins must agree on: not when it was recorded, and not hashes, which are salted."""
    if isinstance(answer, Added):
        return (answer.version, answer.replayed, [comparable(entry) for entry in answer.entries])
    if isinstance(answer, AddedEntry):
        return (answer.entry_id, answer.version, answer.tokens, answer.kind, answer.orphan, answer.known)
    if isinstance(answer, CompactionResult):
        text = answer.summary.text if answer.summary else None
        return (answer.compaction_id, answer.version, answer.entries_compressed, answer.tokens_saved, text)
    return answer


async def active_id(ledger: MemoryLedger, place: int) -> str:
    active = await ledger.get_active_entries(SESSION_ID)
    return active[place % len(active)].entry_id if active else "nobody"


async def edit(ledger: MemoryLedger, place: int, text: str) -> int:
    return await ledger.edit_entry(SESSION_ID, await active_id(ledger, place), text)


async def remove(ledger: MemoryLedger, place: int) -> int:
    return await ledger.remove_entry(SESSION_ID, await active_id(ledger, place))


@pytest.fixture
def machine(server: Server, shared_database: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[type[Twins]]:
    """The machine, on one event loop with one PostgreSQL store; it snapshots often and holds no content in memory."""
    monkeypatch.setattr(state_loading, "EVERY_EVENTS", 4)
    monkeypatch.setattr(state_loading, "FIRST_AFTER_EVENTS", 4)
    monkeypatch.setattr(stored_snapshots, "LASTING_EVENTS", 10)
    without_content(monkeypatch)
    with asyncio.Runner() as runner:
        store = runner.run(PostgresStore.open(server.target(shared_database)))
        yield type("Machine", (Twins,), {"runner": runner, "postgres": store})
        runner.run(store.close())


def profile(examples: int, steps: int) -> settings:
    return settings(
        max_examples=examples,
        stateful_step_count=steps,
        deadline=None,
        database=None,
        print_blob=True,
        suppress_health_check=list(HealthCheck),
    )


def test_both_stores_hold_the_same_whatever_is_done(machine: type[Twins]) -> None:
    run_state_machine_as_test(machine, settings=profile(15, 30))


@pytest.mark.slow
def test_both_stores_hold_the_same_whatever_is_done_for_long(machine: type[Twins]) -> None:
    """Source: trust P-8, 2,000 sequences of 50 steps."""
    run_state_machine_as_test(machine, settings=profile(2_000, 50))


async def test_a_read_uses_the_nearest_snapshot(monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise the comparison above would prove nothing of snapshots."""
    monkeypatch.setattr(state_loading, "EVERY_EVENTS", 4)
    monkeypatch.setattr(state_loading, "FIRST_AFTER_EVENTS", 4)
    monkeypatch.setattr(stored_snapshots, "LASTING_EVENTS", 4)
    twin = await a_history()
    stored = await twin.store.snapshots.load(twin.stream, SESSION.name, SESSION.version, at_most=9)
    assert stored is not None
    assert 5 <= stored.version <= 9


async def test_a_snapshot_that_forgets_something_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control of `check_folds`."""
    monkeypatch.setattr(state_loading, "EVERY_EVENTS", 4)
    monkeypatch.setattr(state_loading, "FIRST_AFTER_EVENTS", 4)
    twin = await a_history()
    await check_folds(twin)

    def without_counts(state: bytes) -> Any:
        return snapshots.load(state.replace(b'"pinned"', b'"PINNED"').replace(b'"entry_count":', b'"unknown":'))

    monkeypatch.setattr(services, "SESSIONS", replace(snapshots.SESSIONS, load=without_counts))
    with pytest.raises(AssertionError):
        await check_folds(twin)


async def a_history() -> Twin:
    twin = Twin(InMemoryStore(), "control")
    for number in range(12):
        await twin.do(lambda ledger, n=number: ledger.add_user_message(SESSION_ID, f"message {n}"))
    return twin
