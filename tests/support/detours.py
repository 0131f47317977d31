"""The ways by which a session can go on elsewhere or again."""

import io
from collections.abc import Awaitable, Callable
from datetime import timedelta
from typing import Final, TypeAlias

import httpx

from ledger.events.clock import SystemClock
from ledger.server.application import create_app
from ledger.server.service import Service
from ledger.server.service_settings import load_service_settings
from ledger.settings import Settings
from projections.memory_config.config import dump
from tests.support.ledgers import ledger_over
from tests.support.lives import TTL_S, Batch, Life, live

#: Lets a session go on in another way; *between* happens to it meanwhile, if anything can.
Detour: TypeAlias = Callable[[Life, list[Batch]], Awaitable[Life]]


async def _version(life: Life) -> int:
    return (await life.ledger.get_state(life.session)).version


async def _expired(life: Life) -> int:
    """Let the session expire, and return its last version."""
    await life.ledger.set_expiry(life.session, TTL_S)
    life.clock.moment = SystemClock().now() + timedelta(days=1)
    return await _version(life)


async def _never_expires(life: Life) -> Life:
    life.clock.moment = SystemClock().now()
    await life.ledger.set_expiry(life.session, None)
    return life


async def by_expiry(life: Life, between: list[Batch]) -> Life:
    await life.ledger.restore(life.session, await _expired(life))
    return await _never_expires(life)


async def by_expiry_and_another_life(life: Life, between: list[Batch]) -> Life:
    version = await _expired(life)
    await live(life, between)
    await life.ledger.restore(life.session, version)
    return await _never_expires(life)


async def by_expiry_and_restore_over_http(life: Life, between: list[Batch]) -> Life:
    version = await _expired(life)
    settings = load_service_settings()
    async with Service.open(
        Settings(namespace=life.namespace), settings, store=life.store, clock=life.clock
    ) as service:
        transport = httpx.ASGITransport(create_app(service, settings))
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
            answer = await client.post(f"/v1/sessions/{life.session}/restore", json={"version": version})
    assert answer.status_code == 200, answer.text
    return await _never_expires(life)


async def by_restore(life: Life, between: list[Batch]) -> Life:
    version = await _version(life)
    await live(life, between)
    await life.ledger.restore(life.session, version)
    return life


async def by_restore_after_a_clear(life: Life, between: list[Batch]) -> Life:
    version = await _version(life)
    await life.ledger.clear_session(life.session)
    await live(life, between)
    await life.ledger.restore(life.session, version)
    return life


async def by_restore_after_an_end(life: Life, between: list[Batch]) -> Life:
    version = await _version(life)
    await life.ledger.clear_session(life.session, end=True)
    await life.ledger.restore(life.session, version)
    return life


async def by_fork(life: Life, between: list[Batch]) -> Life:
    await life.ledger.fork(life.session, "fork")
    await live(life, between)  # to the parent
    return life._replace(session="fork")


async def by_fork_of_a_version(life: Life, between: list[Batch]) -> Life:
    version = await _version(life)
    await live(life, between)
    await life.ledger.fork(life.session, "fork", version=version)
    return life._replace(session="fork")


async def _elsewhere(life: Life) -> Life:
    """Return the same session of another namespace, which will have the same config."""
    namespace = f"{life.namespace}-other"
    config = dump((await life.ledger.get_state(life.session)).config)
    ledger = ledger_over(life.store, namespace=namespace, config=config, summarizer=life.asked, clock=life.clock)
    return life._replace(ledger=ledger, namespace=namespace)


async def by_state_import(life: Life, between: list[Batch]) -> Life:
    other = await _elsewhere(life)
    await other.ledger.import_session(await life.ledger.export_session(life.session))
    return other


async def by_state_import_over_another_life(life: Life, between: list[Batch]) -> Life:
    state = await life.ledger.export_session(life.session)
    await live(life, [step for step in between if step.kind != "config"])  # a state has none
    await life.ledger.import_session(life.session, state)
    return life


async def by_file_import(life: Life, between: list[Batch]) -> Life:
    other = await _elsewhere(life)
    lines = b"".join([line async for line in life.ledger.export_file(life.session)])
    await other.ledger.import_file(lambda: io.BytesIO(lines))
    return other


FORKS: Final[tuple[Detour, ...]] = (by_fork, by_fork_of_a_version)
DETOURS: Final[tuple[Detour, ...]] = (
    by_expiry,
    by_expiry_and_another_life,
    by_expiry_and_restore_over_http,
    by_restore,
    by_restore_after_a_clear,
    by_restore_after_an_end,
    *FORKS,
    by_state_import,
    by_state_import_over_another_life,
    by_file_import,
)
