"""Print, as JSON, a digest of what every strategy makes of one history: ``python -m tests.support.strategy_digests``.

With ``--broken`` the window ``full`` shows entries in the order in which a set of their ids happens to stand.
"""

import json
import sys
from collections.abc import Iterator
from hashlib import sha256
from typing import Any

import msgspec

from ledger.replay.what_if.config_replay import replay
from ledger.replay.what_if.recorded_answers import cache_of
from ledger.session.views import stats_of, window_of
from projections.memory_config import config as memory_config
from projections.rendering import context_text
from projections.strategies import WINDOWS
from tests.support import histories
from tests.support.histories import Step, happened, hints, mixed

TALK = """
    [i30] [u40 a60] [u20 c1:80 r1:120 a30] [u50 c2:40 c3:40 r3:90 r2:10 q20] [x70 u10 a90] [u30 c4:20] [u60 a60] [r4:50]
    [p20 c1:30 r1:150 q40] [u90 a10] [s15 u35 a70] [u25 c2:25 r2:175 a55] [u45 a65] [u5 a195] [u80 c3:60]
"""
STEPS = [
    *(
        Step("add", f"[{batch}]", day=day)
        for day, batch in enumerate(TALK.replace("\n", " ").strip(" []").split("] ["))
    ),
    Step("edit", place=0.5),
    Step("remove", place=0.3),
    Step("import"),
    *(Step("add", f"[u{tokens} a{tokens}]") for tokens in range(0, 200, 10)),
]


def configs() -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield a config of each strategy, under a name of its own."""
    for kind, several in histories.WINDOWS.items():
        for number, fields in enumerate(several):
            yield f"{kind} {number}", {"window": {"type": kind, **fields}}
    for kind, several in histories.COMPACTIONS.items():
        for number, fields in enumerate(several):
            yield f"{kind} {number}", {"window": {"type": "full"}, "compactions": [{"type": kind, **fields}]}


def digests() -> dict[str, str]:
    """Return digests of windows, of plans with what came of them, and of what-ifs, by what was tried."""
    found = {}
    recorded = happened({"max_entries": 8, "recent_window": 2}, STEPS, mixed).events
    for name, raw in configs():
        session = happened(raw, STEPS, mixed)
        window = window_of(session.state, hints(session))
        done = replay(recorded, memory_config.load(raw), cache_of(recorded), on_miss="estimate")
        found[f"window of {name}"] = digest([window, context_text(window), stats_of(session.state)])
        found[f"plans of {name}"] = digest([event.payload for event in session.events])
        found[f"what-if of {name}"] = digest([done.completed, window_of(done.state), stats_of(done.state)])
    return found


def digest(value: Any) -> str:
    return sha256(msgspec.json.encode(value)).hexdigest()


def break_it() -> None:
    real = WINDOWS["full"]

    def window(*args: Any) -> Any:
        shown = real.window(*args)
        by_id = {getattr(item, "entry_id", ""): item for item in shown.items}
        return msgspec.structs.replace(shown, items=tuple(by_id[name] for name in set(by_id)))

    WINDOWS["full"] = msgspec.structs.replace(real, window=window)


if __name__ == "__main__":
    if "--broken" in sys.argv:
        break_it()
    print(json.dumps(digests()))
