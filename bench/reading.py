"""Workloads that read, and the size of the log on disk."""

import msgspec
from msgspec.structs import replace

from bench.measure import Result, Work, at_least, at_most, interleaved, ratio
from bench.setting import TOKENIZER, Setting, fill, fresh_namespace, ledger_over, plain_session
from ledger.codec import decode
from ledger.ids import namespace_id
from ledger.ports import Store
from ledger.session.state import SESSION, SessionState, evolve
from ledger.what_if import replay as replaying
from projections import config as memory_config
from projections.window import ActiveEntries

_ROUNDS = 5
_LOG = ("ledger.events",)


async def window(setting: Setting) -> list[Result]:
    """The context of 5,000 entries, against the indexed SELECT of the same rows.

    Warm: this process has read the session before. Cold: it starts from the snapshot.
    """
    async with setting.store() as store, setting.plain() as plain:
        namespace = fresh_namespace()
        await fill(setting, writing := ledger_over(store, namespace), "long", 5_000)
        await writing.close()  # the snapshot is written
        warm_ledger = ledger_over(store, namespace)
        await plain.insert_many(plain_session("long"), 0, [setting.row() for _ in range(5_000)])

        async def warm() -> ActiveEntries:
            return (await warm_ledger.get_state("long")).window

        async def cold() -> ActiveEntries:
            return (await ledger_over(store, namespace).get_state("long")).window

        async def peer() -> None:
            for _, row in await plain.select(plain_session("long")):
                msgspec.json.decode(row)

        async def rows() -> None:
            await plain.select(plain_session("long"))

        contenders = {"warm": warm, "cold": cold, "plain": peer, "rows": rows}
        medians = await interleaved(contenders, rounds=_ROUNDS, each=5)
        return [
            at_most("window at 5,000 entries, warm: latency", ratio(medians, "warm", "rows"), 2.0),
            at_most("window at 5,000 entries, cold: latency", ratio(medians, "cold", "rows"), 2.0, "rows undecoded"),
            at_most("window at 5,000 entries, cold: latency", ratio(medians, "cold", "plain"), None, "rows as JSON"),
        ]


async def state_at(setting: Setting) -> list[Result]:
    """The state at version 900 of 1,000, cold, against the SELECT of the first 900 rows."""
    async with setting.store() as store, setting.plain() as plain:
        namespace = fresh_namespace()
        ledger = ledger_over(store, namespace)
        for _ in range(20):
            await fill(setting, ledger, "past", 50)
        await ledger.close()  # the snapshots are written
        ledger = ledger_over(store, namespace)
        await plain.insert_many(plain_session("past"), 0, [setting.row() for _ in range(1_000)])

        async def ours() -> SessionState:
            return await ledger_over(store, namespace).get_state("past", version=900)

        async def peer() -> None:
            for _, row in await plain.select(plain_session("past"), until=900):
                msgspec.json.decode(row)

        medians = await interleaved({"ours": ours, "plain": peer}, rounds=_ROUNDS, each=10)
        return [at_most("state at version 900 of 1,000, cold: latency", ratio(medians, "ours", "plain"), None)]


async def replay(setting: Setting) -> list[Result]:
    """The whole log of 200 sessions with 500 entries folded to states, against COPY and decoding its JSON."""
    async with setting.store() as store, setting.plain() as plain:
        namespace = fresh_namespace()
        ledger = ledger_over(store, namespace)
        for number in range(200):
            await fill(setting, ledger, f"replayed-{number}", 500)
            rows = [setting.row() for _ in range(500)]
            await plain.insert_many(plain_session(f"replayed-{number}"), 0, rows)

        async def ours() -> None:
            states = await _fold_all(store, namespace)
            assert len(states) == 200
            assert all(len(state.window.entries) == 500 for state in states.values())

        async def peer() -> None:
            assert await plain.copy_and_decode() == 100_000

        medians = await interleaved({"ours": ours, "plain": peer}, rounds=3, each=1)
        return [at_least("replay of 200 sessions of 500: throughput", ratio(medians, "plain", "ours"), 0.4)]


async def what_if(setting: Setting) -> list[Result]:
    """A session of 1,000 entries replayed under other configs, against the plain fold of the same events."""
    async with setting.store() as store:
        ledger = ledger_over(store, fresh_namespace())
        await fill(setting, ledger, "tried", 1_000)
        events = await ledger.get_events("tried")
        batches = [replace(event, payload=replace(event.payload, write_id=str(event.version))) for event in events]
        configs = {
            "full": {"profile": "none"},
            "max_tokens": {"memory_strategy_id": "max_tokens"},
            "token_threshold": {"profile": "memory_manager", "tokenizer": TOKENIZER},
        }

        async def fold() -> SessionState:
            return SESSION.fold(batches)

        def tried(name: str) -> Work:
            config = memory_config.load(configs[name])

            async def work() -> object:
                return replaying.replay(batches, config)

            return work

        contenders: dict[str, Work] = {"fold": fold, **{name: tried(name) for name in configs}}
        medians = await interleaved(contenders, rounds=_ROUNDS, each=3)
        return [
            at_least("what-if of 1,000 entries: events/s", ratio(medians, "fold", name), None, name) for name in configs
        ]


async def _fold_all(store: Store, namespace: str) -> dict[bytes, SessionState]:
    states: dict[bytes, SessionState] = {}
    wanted, position = namespace_id(namespace), 0
    while page := await store.events.read_namespace(wanted, after=position, limit=5_000):
        for stored in page:
            key = stored.stream_id.bytes
            states[key] = evolve(states.get(key, SESSION.initial), decode(stored))
        position = page[-1].position
    return states


async def disk(setting: Setting) -> list[Result]:
    """Bytes on disk per entry, with indexes and snapshots, for entries added one by one, at several lengths."""
    results = []
    for length, sessions in ((10, 300), (100, 30), (1_000, 3), (10_000, 1)):
        async with setting.store() as store, setting.plain() as plain:
            tables = (*_LOG, "ledger.snapshots", "ledger.streams")
            before = [await plain.bytes_on_disk(table) for table in tables]
            ledger = ledger_over(store, fresh_namespace())
            for number in range(sessions):
                for first in range(0, length, 10):
                    await ledger.add_entries(f"kept-{number}", [setting.draft() for _ in range(10)])
                    rows = [setting.row() for _ in range(10)]
                    await plain.insert_many(plain_session(f"kept-{number}"), first, rows)
            await ledger.close()
            grown = sum([await plain.bytes_on_disk(table) for table in tables]) - sum(before)
            value = grown / await plain.bytes_on_disk()
        results.append(at_most(f"bytes on disk at length {length:,}", value, 2.2))
    return results
