"""Server-sent events: in order, at least once, from where the reader left off, nothing missed (http W-67)."""

import asyncio
import copy
import json
import random
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from ledger.memory import MemoryLedger
from ledger.server import notifier
from ledger.server.native import server_sent_events
from ledger.server.service import Service
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from tests.server.conftest import Running, running
from tests.server.test_native_sessions import SAID, say
from tests.support.databases import Server
from tests.support.ledgers import ledger_over
from tests.support.patience import within


async def events(lines: AsyncIterator[str]) -> AsyncIterator[tuple[int, str, dict[str, Any]]]:
    """Yield (id, event, data) of each event; comments are left out."""
    fields: dict[str, str] = {}
    async for line in lines:
        name, _, value = line.partition(": ")
        if line and name:
            fields[name] = value
        elif not line and "data" in fields:
            yield int(fields["id"].partition("-")[0]), fields["event"], json.loads(fields["data"])
            fields = {}


@asynccontextmanager
async def following(
    url: str, path: str, params: dict[str, Any], last: int | None = None
) -> AsyncIterator[AsyncIterator[tuple[int, str, dict[str, Any]]]]:
    headers = {} if last is None else {"Last-Event-ID": str(last)}
    async with (
        httpx.AsyncClient(base_url=url, timeout=20) as client,
        client.stream("GET", path, params=params, headers=headers) as answer,
    ):
        assert answer.status_code == 200
        assert answer.headers["content-type"].startswith("text/event-stream")
        yield events(answer.aiter_lines())


async def test_a_stream_sends_past_events_and_then_new_ones(
    service: Running, api: httpx.Client, namespace: str, session: str
) -> None:
    say(api, session)
    path = f"/v1/sessions/{session}/events/stream"
    async with following(service.url, path, {"namespace": namespace}) as stream:
        first = [await anext(stream) for _ in range(3)]
        assert [(place, event) for place, event, _ in first] == [
            (1, "session.opened"),
            (2, "entry.added"),
            (3, "entry.added"),
        ]
        waits = []
        for version in (4, 5, 6):
            began = time.monotonic()
            await asyncio.to_thread(api.patch, f"/v1/sessions/{session}/data", json={"k": version})
            place, event, data = await anext(stream)
            assert (place, event, data["version"]) == (version, "data.changed", version)
            waits.append(time.monotonic() - began)
        assert min(waits) < 0.8, "a write of the same process is not waited for until the next poll"
    listed = (await asyncio.to_thread(api.get, f"/v1/sessions/{session}/events")).json()["events"]
    of_a_page = ("text", "link")
    assert [data for *_, data in first] == [
        {name: value for name, value in event.items() if name not in of_a_page} for event in listed[:3]
    ]


@pytest.mark.parametrize(("params", "last"), [({"after_version": 2}, None), ({"after_version": 1}, 2)])
async def test_a_stream_continues_after_the_last_event_of_the_reader(
    service: Running, api: httpx.Client, namespace: str, session: str, params: dict[str, int], last: int | None
) -> None:
    say(api, session)
    path = f"/v1/sessions/{session}/events/stream"
    async with following(service.url, path, {"namespace": namespace, **params}, last) as stream:
        assert (await anext(stream))[0] == 3


def test_a_bad_last_event_id_is_refused(api: httpx.Client, session: str) -> None:
    say(api, session)
    path = f"/v1/sessions/{session}/events/stream"
    for bad in ("-1", "x", "1.0", "9" * 30, "1-", "1-zz", "1-0A1B2C3D4E5F6071"):
        answer = api.get(path, headers={"Last-Event-ID": bad})
        assert (answer.status_code, answer.json()["code"]) == (422, "bad_last_event_id")
    assert api.get("/v1/sessions/nobody/events/stream").status_code == 404
    assert api.get("/v1/events/stream", params={"after": "-1"}).status_code == 422


def test_a_reader_learns_that_the_log_went_back(api: httpx.Client, session: str) -> None:
    """An id that arrived, but is no longer in the log, as after a restore from a backup; a parameter may be ahead."""
    say(api, session)
    for path in (f"/v1/sessions/{session}/events/stream", "/v1/events/stream"):
        for ahead in ("4", "1000"):
            answer = api.get(path, headers={"Last-Event-ID": ahead})
            assert (answer.status_code, answer.json()["code"]) == (422, "last_event_id_ahead")


@pytest.mark.parametrize("path", ["/v1/sessions/s/events/stream", "/v1/events/stream"])
def test_a_reader_learns_that_a_restored_log_is_as_long_again(path: str) -> None:
    """After a restore from a backup, other events took the places of those that the reader has."""

    async def before_and_after() -> tuple[InMemoryStore, InMemoryStore]:
        store = InMemoryStore()
        await ledger_over(store).add_user_message("s", "in the backup")
        backup = copy.deepcopy(store)
        await ledger_over(store).add_user_message("s", "lost")
        for text in ("after the restore", "and more"):
            await ledger_over(backup).add_user_message("s", text)
        return store, backup

    def ids(client: httpx.Client, last: str | None, count: int) -> list[str]:
        with client.stream("GET", path, headers={"Last-Event-ID": last} if last else {}) as answer:
            assert answer.status_code == 200, answer.read()
            lines = (line.removeprefix("id: ") for line in answer.iter_lines() if line.startswith("id: "))
            return [next(lines) for _ in range(count)]

    store, restored = asyncio.run(before_and_after())
    with running(store) as item, httpx.Client(base_url=item.url, timeout=20) as client:
        seen = ids(client, None, 3)
        assert ids(client, seen[1], 1) == seen[2:], "negative control: nothing was lost"
    with running(restored) as item, httpx.Client(base_url=item.url, timeout=20) as client:
        answer = client.get(path, headers={"Last-Event-ID": seen[2]})
        assert (answer.status_code, answer.json()["code"]) == (422, "last_event_id_ahead")
        now = ids(client, seen[1], 2)
        assert [each.partition("-")[0] for each in now] == ["3", "4"]
        assert seen[2] not in now


async def test_a_reader_that_has_all_waits_for_the_next(
    service: Running, api: httpx.Client, namespace: str, session: str
) -> None:
    """Negative control: the last event of the log is not ahead of it."""
    say(api, session)
    path = f"/v1/sessions/{session}/events/stream"
    async with following(service.url, path, {"namespace": namespace}, 3) as stream:
        await asyncio.to_thread(api.patch, f"/v1/sessions/{session}/data", json={"k": 1})
        assert (await anext(stream))[0] == 4


async def cut_reader(url: str, namespace: str, until: int, cuts: int, chance: random.Random) -> list[int]:
    """Follow a namespace up to position *until*, being cut off *cuts* times; return the positions that came."""
    came: list[int] = []
    for at in range(cuts + 1):
        last = came[-1] if came else None
        share = until if at == cuts else chance.randint(1, 2 * until // cuts)
        try:
            async with following(url, "/v1/events/stream", {"namespace": namespace}, last) as stream:
                read = 0
                async for place, _, data in stream:
                    assert data["position"] == place
                    came.append(place)
                    read += 1
                    if read >= share or place == until:
                        break
        except httpx.TransportError:
            pass
        if came and came[-1] == until:
            break
    return came


@pytest.mark.full
async def test_a_reader_that_is_cut_twenty_times_misses_nothing_of_eight_writers(
    service: Running, postgres_store: PostgresStore, namespace: str, seed: int
) -> None:
    """Half of the writers are in another process's place: the service does not hear their appends."""
    chance = random.Random(seed)
    total = 8 * 10 + 8

    async def write(number: int) -> None:
        async with httpx.AsyncClient(base_url=service.url, params={"namespace": namespace}, timeout=30) as client:
            for at in range(20):
                body = {"entries": [{"role": "user", "content": f"{number}-{at}"}]}
                assert (await client.post(f"/v1/sessions/s-{number}/entries", json=body)).status_code == 201

    async def write_apart(ledger: MemoryLedger, number: int) -> None:
        for at in range(10):
            await ledger.add_user_message(f"s-{number}", f"{number}-{at}")
            await asyncio.sleep(0.01)

    async with MemoryLedger.open(namespace=namespace, store=postgres_store) as apart:
        reader = asyncio.create_task(cut_reader(service.url, namespace, total, 20, chance))
        await asyncio.gather(
            *(write(number) for number in range(4)), *(write_apart(apart, number) for number in range(4, 8))
        )
        came = await asyncio.wait_for(reader, 30)
    assert came == list(range(1, total + 1))


async def test_a_stream_that_skips_events_during_a_read_is_noticed(
    service: Running, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: a reader of every other page."""
    real = MemoryLedger.get_feed

    async def lossy(self: MemoryLedger, *, after: int = 0, limit: int = 100) -> list[Any]:
        found = await real(self, after=after, limit=limit)
        return [event for event in found if event.position % 3 or event.position == 7]

    monkeypatch.setattr(MemoryLedger, "get_feed", lossy)
    async with httpx.AsyncClient(base_url=service.url, params={"namespace": namespace}) as client:
        for at in range(6):
            body = {"entries": [{"role": "user", "content": str(at)}]}
            assert (await client.post("/v1/sessions/s/entries", json=body)).status_code == 201
    came = await asyncio.wait_for(cut_reader(service.url, namespace, 7, 1, random.Random(1)), 20)
    assert came != list(range(1, 8))


async def test_a_quiet_stream_sends_keep_alives_and_holds_no_connection(
    service: Running, api: httpx.Client, namespace: str, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_sent_events, "COMMENT_S", 0.2)
    say(api, session)
    async with (
        httpx.AsyncClient(base_url=service.url, timeout=10) as client,
        client.stream(
            "GET", f"/v1/sessions/{session}/events/stream", params={"namespace": namespace, "after_version": 3}
        ) as answer,
    ):
        comments = [line async for line in _first(answer.aiter_lines(), 6)]
    assert comments == [": connected", "", ": waiting", "", ": waiting", ""]


async def _first(lines: AsyncIterator[str], count: int) -> AsyncIterator[str]:
    async for line in lines:
        yield line
        count -= 1
        if not count:
            return


async def test_streams_end_when_the_service_stops(server: Server, shared_database: str, namespace: str) -> None:
    with running(server.target(shared_database)) as own:
        async with (
            httpx.AsyncClient(base_url=own.url, timeout=10) as client,
            client.stream("GET", "/v1/events/stream", params={"namespace": namespace}) as answer,
        ):
            lines = answer.aiter_lines()
            assert await anext(lines) == ": connected"
            own.loop.call_soon_threadsafe(own.service.stopping.set)
            began = time.monotonic()
            rest = [line async for line in lines]
            assert time.monotonic() - began < within(2)
            assert all(not line or line.startswith(":") for line in rest)


async def test_the_number_of_streams_is_limited(
    service: Running, api: httpx.Client, namespace: str, session: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    say(api, session)
    own: Service = service.service
    monkeypatch.setattr(own.notifier, "_most", own.notifier._listeners + 1)
    path = f"/v1/sessions/{session}/events/stream"
    async with following(service.url, path, {"namespace": namespace}) as stream:
        await anext(stream)
        refused = await asyncio.to_thread(api.get, path)
        assert (refused.status_code, refused.json()["code"]) == (429, "rate_limited")
    for _ in range(100):
        if not own.notifier._signals:
            break
        await asyncio.sleep(0.05)
    assert own.notifier._signals == {}, "who is gone is forgotten, and nobody polls for them"
    assert notifier.POLL_S <= 1
    assert say(api, session, SAID).status_code == 201
