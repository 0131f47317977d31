"""What a session costs the first time that a new process uses it."""

import statistics
from collections.abc import Sequence

from bench import new_process
from bench.filling import fill
from bench.new_process import WARM, Job
from bench.rows import Figures
from bench.setting import BOUNDED, FULL, SHOWN, Setting, fresh_namespace, ledger_over, plain_rows

_PROCESSES = 9
_TAIL = 150  # appended one by one at the end, as events that no snapshot has


async def first_append(setting: Setting) -> Figures:
    """The first append of new processes to sessions of 100 and 100,000 entries, and the memory they need then."""
    short, long = "of-100", "of-100000"
    found = await _measured(setting, "append", {short: 100, long: setting.size(100_000)})
    return {
        "first append": {"ratio": _ratio(found, ("append", long), ("append", short))},
        "memory": {"ratio": statistics.median(each["memory"][long] for each in found)},
    }


async def first_window(setting: Setting) -> Figures:
    """The first window of the newest 21 entries in new processes, from sessions of 100, 5,000 and 20,000."""
    short, middle, long = "of-100", "of-5000", "of-20000"
    lengths = {short: 100, middle: setting.size(5_000), long: setting.size(20_000)}
    found = await _measured(setting, "window", lengths)
    whole = await _measured(setting, "window", {"all": setting.size(5_000)}, bounded=False)
    return {
        "first window": {"ratio": _ratio(found, ("window", long), ("window", short))},
        "first window to select": {"ratio": _ratio(found, ("window", middle), ("select", middle))},
        "first full window": {"ratio": _ratio(whole, ("window", "all"), ("select", "all"))},
    }


async def _measured(
    setting: Setting, does: str, lengths: dict[str, int], *, bounded: bool = True
) -> list[dict[str, dict[str, float]]]:
    """Fill sessions of these *lengths*; start new processes, which use them in this order and the other in turns."""
    config, namespace = BOUNDED if bounded else FULL, fresh_namespace()
    async with setting.store() as store, setting.plain() as plain:
        ledger = ledger_over(store, namespace, config)
        for session, length in lengths.items():
            await fill(setting, ledger, session, max(0, length - _TAIL))
            await fill(setting, ledger, session, min(length, _TAIL), batch=1)
            await plain.copy(plain_rows(setting, namespace + session, length))
        await fill(setting, ledger, WARM, 10)
        await plain.copy(plain_rows(setting, namespace + WARM, 10))
        await ledger.close()  # its snapshots are written
    found = []
    for turn in range(setting.times(_PROCESSES)):
        sessions = tuple(lengths)[:: -1 if turn % 2 else 1]
        job = Job(
            does=does,
            url=setting.url,
            app_url=setting.app_url,
            namespace=namespace,
            sessions=sessions,
            shown=SHOWN if bounded else None,
        )
        found.append(await new_process.run(job))
    return found


def _ratio(found: Sequence[dict[str, dict[str, float]]], ours: tuple[str, str], peer: tuple[str, str]) -> float:
    return statistics.median(each[ours[0]][ours[1]] / each[peer[0]][peer[1]] for each in found)
