"""Sessions that exist before something is measured."""

from typing import Final

from bench.setting import FULL, Setting
from ledger.events.clock import SystemClock
from ledger.events.ids import Stream
from ledger.memory import MemoryLedger
from ledger.ports import AppendRequest, Store
from ledger.ports.event_encoding import append_request
from ledger.session.commands import OpenSession
from ledger.session.decide import decide
from ledger.session.state import SessionState
from projections.memory_config import config as memory_config

_BATCH: Final = 1_000


async def fill(setting: Setting, ledger: MemoryLedger, session: str, entries: int, *, batch: int = _BATCH) -> None:
    """Add entries to *session*, batch by batch."""
    while entries:
        count = min(entries, batch)
        await ledger.add_entries(session, setting.drafts(count))
        entries -= count


async def fill_sessions(setting: Setting, store: Store, namespace: str, sessions: int) -> None:
    """Make sessions of one entry, in one transaction."""
    clock = SystemClock()
    await store.events.append_all([_first(setting, clock, namespace, f"session-{at}") for at in range(sessions)])


def _first(setting: Setting, clock: SystemClock, namespace: str, session: str) -> AppendRequest:
    opening = OpenSession(
        write_id=clock.ulid(),
        namespace=namespace,
        user_id="",
        session_id=session,
        config=memory_config.load(FULL),
    )
    events = [*decide(SessionState(), opening), setting.event()]
    return append_request(Stream.of(namespace, session), events, expected_version=0, clock=clock, actor="")
