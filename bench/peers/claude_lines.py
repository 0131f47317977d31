"""The session store of the Claude Agent SDK, beside the SDK's example for PostgreSQL. Source: adapters CL-9.

Both come with the source of the SDK, since its wheel has a program of 160 MB.
"""

import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from typing import Any, Final

from langgraph.checkpoint.base.id import uuid6

from bench.measure import Median, Work, latencies, ratio
from ledger.memory import MemoryLedger

_VERSION: Final = "0.2.187"
_LINES: Final = 2_000
_BOUND_S: Final = 0.01
_KEY: Final = {"project_key": "garden", "session_id": "s"}


async def measure(urls: Any, quick: bool) -> dict[str, tuple[float, float | None]]:
    """Return the ratios of an append of 50 lines and a load of 2,000, and what that append adds, of its bound."""
    with tempfile.TemporaryDirectory() as folder:
        source = _source(Path(folder))
        sys.path[:0] = [str(source / "src"), str(source / "examples" / "session_stores")]
        return await _measure(urls, quick)


async def _measure(urls: Any, quick: bool) -> dict[str, tuple[float, float | None]]:
    import asyncpg  # noqa: PLC0415 - after the path is there
    from postgres_session_store import PostgresSessionStore  # noqa: PLC0415 - as above

    from ledger.adapters.claude_agent import LedgerSessionStore  # noqa: PLC0415 - as above

    rounds, each = (1, 3) if quick else (5, 10)
    async with MemoryLedger.open(urls.ours) as ledger, asyncpg.create_pool(urls.other) as pool:
        other = PostgresSessionStore(pool=pool)
        await other.create_schema()
        stores = {"ours": LedgerSessionStore(ledger=ledger), "other": other}
        for store in stores.values():
            for _ in range(0, _LINES, 50):
                await store.append(_KEY, _lines())
        loads: dict[str, Work] = {who: _load(store) for who, store in stores.items()}
        load = ratio(await latencies(loads, rounds=rounds, each=each), "ours", "other")
        appends: dict[str, Work] = {who: _append(store) for who, store in stores.items()}
        taken = await latencies(appends, rounds=rounds, each=each)
    added = [(ours - theirs) / _BOUND_S for ours, theirs in zip(taken["ours"], taken["other"], strict=True)]
    return {
        "append 50 lines": (ratio(taken, "ours", "other"), None),
        "what an append of 50 lines takes more, of 10 ms": (Median.of(added), 1.0),
        f"load {_LINES:,} lines": (load, 1.5),
    }


def _load(store: Any) -> Work:
    return lambda: store.load(_KEY)


def _append(store: Any) -> Work:
    def prepared() -> Any:
        return store.append({**_KEY, "session_id": "other"}, _lines())

    return prepared


def _lines() -> list[dict[str, Any]]:
    return [
        {
            "type": ("user", "assistant")[at % 2],
            "uuid": str(uuid6()),
            "sessionId": "s",
            "timestamp": "2026-03-01T10:00:00.000Z",
            "message": {"role": ("user", "assistant")[at % 2], "content": "A sentence of an agent. " * 17},
        }
        for at in range(50)
    ]


def _source(folder: Path) -> Path:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
    subprocess.run([*command, "--dest", str(folder), f"claude-agent-sdk=={_VERSION}"], check=True)
    guard: Any = {"filter": "data"} if hasattr(tarfile, "data_filter") else {}  # Python 3.11 has it from 3.11.4 on
    with tarfile.open(next(folder.glob("*.tar.gz"))) as opened:
        opened.extractall(folder, **guard)
    return folder / f"claude_agent_sdk-{_VERSION}"
