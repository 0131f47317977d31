"""Workloads that read in a process that knows the session, and listings."""

from bench.filling import fill, fill_sessions
from bench.measure import Work, latencies, ratio
from bench.rows import Figures
from bench.setting import (
    BOUNDED,
    SHOWN,
    Setting,
    fresh_namespace,
    ledger_over,
    plain_rows,
    plain_session,
)

_LISTED = 100


async def window(setting: Setting) -> Figures:
    """The window of a session of 5,000 entries that this process has read before."""
    length = setting.size(5_000)
    async with setting.store() as store, setting.plain() as plain:
        namespace = fresh_namespace()
        all_of, newest = ledger_over(store, namespace), ledger_over(store, namespace, BOUNDED)
        await fill(setting, all_of, "all", length)
        await fill(setting, newest, "newest", length)
        await plain.copy(plain_rows(setting, "rows", length))
        rows = plain_session("rows")
        contenders: dict[str, Work] = {
            "all": lambda: all_of.get_context_for_llm("all"),
            "newest": lambda: newest.get_context_for_llm("newest"),
            "all rows": lambda: plain.select(rows),
            "newest rows": lambda: plain.select(rows, newest=SHOWN),
        }
        taken = await latencies(contenders, rounds=setting.times(5), each=setting.times(10))
        for ledger in (all_of, newest):
            await ledger.close()
    parts = {f"newest {SHOWN}": ratio(taken, "newest", "newest rows"), "all": ratio(taken, "all", "all rows")}
    return {"window": parts}


async def state_at(setting: Setting) -> Figures:
    """What the model was shown at a version near the end of 5,000 entries, and the whole state then.

    The window has the newest 21 entries; versions are others each time, so that no cache has their states.
    """
    length = setting.size(5_000)
    async with setting.store() as store, setting.plain() as plain:
        ledger = ledger_over(store, fresh_namespace(), BOUNDED)
        await fill(setting, ledger, "past", length, batch=50)
        await plain.copy(plain_rows(setting, "past", length))
        versions = iter(range(length - 1, 0, -1))
        contenders: dict[str, Work] = {
            "window": lambda: ledger.get_context_for_llm("past", version=next(versions)),
            "state": lambda: ledger.get_state("past", version=next(versions)),
            "scan": lambda: plain.select(plain_session("past")),
        }
        taken = await latencies(contenders, rounds=setting.times(5), each=setting.times(10))
        await ledger.close()
    return {
        "state at": {"ratio": ratio(taken, "window", "scan")},
        "whole state at": {"ratio": ratio(taken, "state", "scan")},
    }


async def listing(setting: Setting) -> Figures:
    """The first listing of a namespace of 20,000 sessions, against a scan of the first entry of each."""
    sessions, rounds = setting.size(20_000), setting.times(3)
    async with setting.store() as store, setting.plain() as plain:
        await plain.copy([row for number in range(sessions) for row in plain_rows(setting, f"s-{number}", 1)])
        namespaces = [fresh_namespace() for _ in range(rounds)]
        for namespace in namespaces:
            await fill_sessions(setting, store, namespace, sessions)
        unlisted = iter([fresh_namespace(), *namespaces])  # the first, which is empty, warms

        async def first_listing() -> None:
            ledger = ledger_over(store, next(unlisted))
            await ledger.list_sessions(limit=_LISTED)
            await ledger.close()

        contenders: dict[str, Work] = {"listing": first_listing, "scan": plain.first_of_each}
        taken = await latencies(contenders, rounds=rounds, each=1, most_s=150)
    return {"listing": {"ratio": ratio(taken, "listing", "scan")}}
