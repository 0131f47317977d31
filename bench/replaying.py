"""Workloads that go through a whole log: replay, what-if, rebuild, verify."""

import itertools
import time
from typing import Any, Final

from bench.filling import fill
from bench.measure import Work, latencies, ratio
from bench.rows import Figures
from bench.setting import TOKENIZER, Setting, fresh_namespace, ledger_over, plain_rows, plain_session
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.session.fast_fold import SESSION_IN_RUNS

_SESSIONS: Final = 200
_CONFIGS: Final[dict[str, dict[str, Any]]] = {
    "full": {"profile": "none"},
    "rolling": {"profile": "none", "window": {"type": "rolling"}},
    "max_tokens": {"memory_strategy_id": "max_tokens"},
    "token_threshold": {"profile": "memory_manager", "tokenizer": TOKENIZER},
}


async def replay(setting: Setting) -> Figures:
    """The states of 200 sessions with 500 entries folded from their first event, against COPY and parsing the JSON."""
    length = setting.size(500)
    async with setting.store() as store, setting.plain() as plain:
        ledger = ledger_over(store, fresh_namespace())
        names = [f"replayed-{number}" for number in range(_SESSIONS)]
        for name in names:
            await fill(setting, ledger, name, length)
            await plain.copy(plain_rows(setting, name, length))

        async def ours() -> None:
            for name in names:
                state = await ledger.fold(name, SESSION_IN_RUNS)
                assert len(state.window.entries) == length

        async def peer() -> None:
            assert await plain.copy_and_decode() == _SESSIONS * length

        taken = await latencies({"ours": ours, "plain": peer}, rounds=setting.times(5), each=1)
        await ledger.close()
    return {"replay": {"ratio": ratio(taken, "plain", "ours")}}


async def what_if(setting: Setting) -> Figures:
    """Sessions of 500 and 4,000 entries replayed under other configs: events per second."""
    lengths = {"short": setting.size(500), "long": setting.size(4_000)}
    parts = {}
    async with setting.store() as store:
        ledger = ledger_over(store, fresh_namespace())
        for name, length in lengths.items():
            await fill(setting, ledger, name, length)
        times = lengths["long"] // lengths["short"]  # so that both replay as many events
        for strategy, config in _CONFIGS.items():
            contenders: dict[str, Work] = {
                "short": lambda config=config: _tried(ledger, "short", config, times),  # type: ignore[misc]  # bound here
                "long": lambda config=config: _tried(ledger, "long", config, 1),  # type: ignore[misc]  # bound here
            }
            taken = await latencies(contenders, rounds=setting.times(5), each=1, most_s=20)
            parts[strategy] = ratio(taken, "short", "long")
        await ledger.close()
    return {"what-if": parts}


async def _tried(ledger: MemoryLedger, session: str, config: dict[str, Any], times: int) -> None:
    for _ in range(times):
        await ledger.what_if(session, config, on_miss="estimate")


async def rebuild(setting: Setting) -> Figures:
    """Sessions of 500 and 4,000 entries rebuilt under another config, to the window; against the what-if of it."""
    lengths = {"short": setting.size(500), "long": setting.size(4_000)}
    configs = {name: config for name, config in _CONFIGS.items() if name in {"max_tokens", "token_threshold"}}
    to_what_if, growing = {}, {}
    async with setting.store() as store:
        ledger = ledger_over(store, fresh_namespace())
        await fill(setting, ledger, "tried", lengths["long"])
        times = lengths["long"] // lengths["short"]  # so that both rebuild as many events
        numbers = itertools.count()

        async def filled(length: str, count: int) -> list[str]:
            names = [f"{length}-{next(numbers)}" for _ in range(count)]
            for name in names:
                await fill(setting, ledger, name, lengths[length])
            return names

        for strategy, config in configs.items():
            taken: dict[str, list[float]] = {"long": [], "short": [], "what-if": []}
            for _ in range(setting.times(3)):
                for length, count in {"long": 1, "short": times}.items():
                    names = await filled(length, count)
                    started = time.perf_counter()
                    for name in names:
                        await ledger.update_config(name, config, replace=True, rebuild=True)
                        await ledger.settle(name)
                        await ledger.get_context(name)
                    taken[length].append(time.perf_counter() - started)
                started = time.perf_counter()
                await _tried(ledger, "tried", config, 1)
                taken["what-if"].append(time.perf_counter() - started)
            done = await ledger.get_rebuild(names[-1])
            assert done is not None, "the sessions were not rebuilt"
            assert done.status == "completed", done
            to_what_if[strategy] = ratio(taken, "long", "what-if")
            growing[strategy] = ratio(taken, "short", "long")
        await ledger.close()
    return {"rebuild": to_what_if, "rebuild growing": growing}


async def verifying(setting: Setting) -> Figures:
    """`verify` of a namespace of 100,000 events, against SHA-256 over the same bytes read by COPY."""
    sessions, each = 100, setting.size(1_000)
    async with setting.store() as store, setting.plain() as plain:
        namespace = fresh_namespace()
        ledger = ledger_over(store, namespace)
        for name in (f"s-{number}" for number in range(sessions)):
            await fill(setting, ledger, name, each)
            stored = await store.events.read_stream(Stream.of(namespace, name), limit=each + 1)
            session = plain_session(name)
            await plain.copy([(session, event.version, event.structure + (event.content or b"")) for event in stored])

        async def ours() -> None:
            report = await ledger.verify()
            assert report.ok, report
            assert report.checked == sessions * (each + 1)

        async def peer() -> None:
            assert await plain.copy_and_hash() == sessions * (each + 1)

        taken = await latencies({"ours": ours, "plain": peer}, rounds=setting.times(3), each=1)
        await ledger.close()
    return {"verify": {"ratio": ratio(taken, "plain", "ours")}}
