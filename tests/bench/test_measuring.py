"""The measuring notices a slow store, CPU that is burnt in the client or the server, and a workload that fails."""

import asyncio
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import psycopg
import pytest

from bench import appending, page, report
from bench.cpu import ClientAndServerCpu, ProcessCpu, pure_python
from bench.goals import MORE, MUST_SHOW
from bench.measure import Median, Work, cpu_seconds, latencies, ratio
from bench.plain import PlainTable
from bench.rows import Figures, Row
from bench.setting import Setting, fresh_namespace, ledger_over, plain_session
from bench.workloads import WORKLOADS, Outcome, run
from ledger.ports import Appended, AppendRequest, Store, with_events
from ledger.stores.decorators import EventStoreDecorator
from ledger.stores.in_memory import InMemoryStore
from tests.support.databases import Server


def test_a_ratio_is_the_median_of_its_rounds_and_has_their_spread__AD_16() -> None:
    found = ratio({"ours": [1.0, 3.0, 4.0], "other": [2.0, 2.0, 2.0]}, "ours", "other")
    assert isinstance(found, Median)
    assert (found, found.low, found.high) == (1.5, 0.5, 2.0)


class SlowStore(EventStoreDecorator):
    """An event store whose appends take 10 ms longer."""

    async def append(self, request: AppendRequest) -> Appended:
        await asyncio.sleep(0.01)
        return await super().append(request)


class SlowSetting(Setting):
    """A setting whose store is slow."""

    @asynccontextmanager
    async def store(self, *, group_commit: bool = True) -> AsyncIterator[Store]:
        async with super().store(group_commit=group_commit) as store:
            yield with_events(store, SlowStore(store.events))


def row(key: str) -> Row:
    return next(row for row in (*MUST_SHOW, *MORE) if row.key == key)


async def compared(store: Store, other: Store) -> float:
    """Return how much longer an append takes through *store* than through *other*."""
    one, two = ledger_over(store, fresh_namespace()), ledger_over(other, fresh_namespace())
    contenders: dict[str, Work] = {
        "one": lambda: one.add_user_message("s", "hello"),
        "two": lambda: two.add_user_message("s", "hello"),
    }
    return ratio(await latencies(contenders, rounds=3, each=10), "one", "two")


async def test_equal_stores_measure_alike_and_a_slow_one_does_not() -> None:
    slow = InMemoryStore()
    assert 0.3 < await compared(InMemoryStore(), InMemoryStore()) < 3
    assert await compared(with_events(slow, SlowStore(slow.events)), InMemoryStore()) > 3


async def test_what_prepares_a_call_is_not_measured() -> None:
    async def call() -> None: ...

    def slowly_prepared() -> object:
        pure_python()
        return call()

    contenders: dict[str, Work] = {"one": slowly_prepared, "two": call}  # type: ignore[dict-item]  # awaitable
    assert ratio(await latencies(contenders, rounds=3, each=30), "one", "two") < 10


async def test_cpu_of_this_process_is_counted_and_waiting_is_not() -> None:
    async def burns() -> None:
        for _ in range(20):
            pure_python()

    async def waits() -> None:
        await asyncio.sleep(0.01)

    spent = await cpu_seconds({"burns": burns, "waits": waits}, ProcessCpu(), rounds=3, each=5)
    assert ratio(spent, "burns", "waits") > 2


@pytest.mark.full
@pytest.mark.processes
def test_memory_is_that_of_the_new_process_and_not_of_the_one_that_started_it() -> None:
    large = bytearray(400_000_000)
    large[::4_096] = b"1" * len(large[::4_096])  # each page is used
    program = "from bench.new_process import peak_mb; held = b'1' * {}; print(peak_mb())"
    small, larger = (
        float(subprocess.run([sys.executable, "-c", program.format(size)], capture_output=True, check=True).stdout)
        for size in (0, 100_000_000)
    )
    assert small < 300 < len(large) / 1e6
    assert 80 < larger - small < 130


@pytest.mark.postgres
async def test_cpu_of_backends_is_counted(server: Server, shared_database: str) -> None:
    url = server.database(shared_database)
    async with await psycopg.AsyncConnection.connect(url, autocommit=True) as connection:

        async def busy() -> None:
            await connection.execute("SELECT count(*) FROM generate_series(1, 300000)")

        async def idle() -> None:
            await connection.execute("SELECT 1")

        with ClientAndServerCpu.open(url) as meter:
            spent = await cpu_seconds({"busy": busy, "idle": idle}, meter, rounds=3, each=3)
    assert ratio(spent, "busy", "idle") > 5


@pytest.mark.postgres
async def test_a_single_plain_client_keeps_to_one_backend(server: Server, fresh_database: str) -> None:
    url = server.database(fresh_database)
    plain = await PlainTable.open(url, connections=4)
    for seq in range(12):
        await plain.insert(plain_session("s"), seq, b"{}")
    used = (
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND query LIKE 'INSERT INTO plain%'"
    )
    with psycopg.connect(url) as connection:
        assert connection.execute(used).fetchone() == (1,)
    await plain.close()


@pytest.mark.full
@pytest.mark.postgres
async def test_a_slow_store_misses_the_goals_of_an_append(server: Server, fresh_database: str) -> None:
    with server.login("ledger_app") as login:
        setting = SlowSetting(server.database(fresh_database), server.url_of(login, fresh_database), quick=True)
        figures = await appending.one_client(setting)
    missed = report.line(row("append"), Outcome(figures=figures))[3]
    assert missed == "missed: store, library, own ids" or missed == "missed", figures


def test_a_workload_that_fails_or_hangs_becomes_an_error_and_the_others_go_on() -> None:
    async def fails(setting: Setting) -> Figures:
        raise RuntimeError("no\nluck")

    async def hangs(setting: Setting) -> Figures:
        await asyncio.sleep(60)
        return {}

    async def works(setting: Setting) -> Figures:
        return {"bulk": {"store": 2.5, "library": 5.0}}

    @contextmanager
    def setting_for(name: str) -> Iterator[Setting]:
        yield Setting("", "")

    started: list[str] = []
    workloads = {"http": fails, "verify": hangs, "bulk": works}
    outcome = run(workloads, setting_for, starting=started.append, most_s=0.2)
    assert started == list(workloads)
    assert all(0 <= share < 1 for share in outcome.waited)
    assert report.line(row("http"), outcome)[3] == "error: RuntimeError: no luck"
    assert report.line(row("verify"), outcome)[3] == "error: did not end within 0.2 s"
    assert report.line(row("bulk"), outcome)[1:] == ("2.50 / 5.00", "≤ 3 / 4.5", "missed: library")
    assert report.line(row("disk"), outcome)[3] == "not measured"


def test_a_run_tells_whether_the_machine_was_busy() -> None:
    busy, quiet = (report.conditions(Outcome(waited=[share]), "18") for share in (0.4, 0.02))
    assert "waited for a processor 40% of the time (other programs were busy" in busy
    assert "waited for a processor 2% of the time (the machine was quiet)" in quiet


def test_every_row_has_a_workload_and_every_workload_a_row() -> None:
    rows = [*MUST_SHOW, *MORE]
    assert len({row.key for row in rows}) == len(rows)
    assert {row.workload for row in rows} == set(WORKLOADS)
    assert len(MUST_SHOW) == 19
    assert all(goal is not None for row in MUST_SHOW for goal in row.parts.values())


def test_the_page_has_a_place_for_each_table_and_the_rest_of_it_stays() -> None:
    text = page.PAGE.read_text()
    written = page.replaced(text, dict.fromkeys(page.TABLES, "| a |\n"))
    assert written.count("| a |\n") == len(page.TABLES)
    assert page.replaced(written, {}) == written
    with pytest.raises(ValueError, match="one place for the table"):
        page.replaced("", {"ratios": ""})


def test_every_line_of_the_page_is_a_row(tmp_path: Path) -> None:
    text = page.PAGE.read_text()
    assert all(f"| {row.title} |" in text for row in (*MUST_SHOW, *MORE)), "run: make bench"
