"""Importing sessions and records from a running server of the working-memory API."""

import secrets
from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from ledger.server.ams_import import ACTOR, ams_importer
from ledger.stores.in_memory import InMemoryStore
from tests.cli.conftest import Cli, app_login, app_url, cli  # noqa: F401 - fixtures
from tests.server.conftest import Running, running
from tests.support.ams_imports import FULL, import_from

pytestmark = pytest.mark.postgres


@pytest.fixture(scope="module")
def target() -> InMemoryStore:
    return InMemoryStore()


@pytest.fixture(scope="module")
def there(target: InMemoryStore) -> Iterator[Running]:
    """A service on the import's target."""
    with running(target, worker=False) as in_flight:
        yield in_flight


def put(api: httpx.Client, name: str, body: Any, **names: str) -> None:
    assert api.put(f"/v1/working-memory/{name}", json=body, params=names).status_code == 200


def test_an_import_copies_everything_and_a_second_one_writes_nothing(
    service: Running, api: httpx.Client, there: Running, target: InMemoryStore, namespace: str, session: str
) -> None:
    put(api, session, {**FULL, "namespace": namespace}, user_id="mia")
    put(api, session, {"messages": [{**FULL["messages"][0], "id": "n1"}], "namespace": namespace})
    records = [
        {"id": f"{session}-{n}", "text": f"Fact {n}", "namespace": namespace, "user_id": "mia", "session_id": session}
        for n in range(120)
    ]
    assert api.post("/v1/long-term-memory/", json={"memories": records}).status_code == 200
    dry = import_from(target, service.url, namespace=namespace, dry_run=True)
    assert (dry.sessions, dry.records) == (2, 120)
    assert httpx.get(f"{there.url}/v1/working-memory/", params={"namespace": namespace}).json()["total"] == 0

    first = import_from(target, service.url, namespace=namespace)
    assert (first.sessions, first.messages, first.memories, first.records, first.refused) == (2, 3, 1, 120, [])
    for user in ({"user_id": "mia"}, {}):
        names = {"namespace": namespace, **user}
        before, after = (
            httpx.get(f"{url}/v1/working-memory/{session}", params=names).json() for url in (service.url, there.url)
        )
        stored = [
            {
                **each,
                "memories": [{**memory, "created_at": 0, "updated_at": 0, "last_accessed": 0} for memory in memories],
            }
            for each in (before, after)
            for memories in [each["memories"]]
        ]
        clock = {"last_accessed", "updated_at", "created_at"}
        assert {k: v for k, v in stored[0].items() if k not in clock} == {
            k: v for k, v in stored[1].items() if k not in clock
        }
    found = httpx.get(f"{there.url}/v1/long-term-memory/{session}-7").json()
    assert (found["text"], found["user_id"], found["namespace"]) == ("Fact 7", "mia", namespace)

    head = httpx.get(f"{there.url}/v1/sessions/{session}/stats", params={"namespace": namespace}).json()["version"]
    again = import_from(target, service.url, namespace=namespace)
    assert (again.sessions, again.unchanged, again.records, again.known_records) == (0, 2, 0, 120)
    assert (
        httpx.get(f"{there.url}/v1/sessions/{session}/stats", params={"namespace": namespace}).json()["version"] == head
    )
    events = httpx.get(f"{there.url}/v1/sessions/{session}/events", params={"namespace": namespace}).json()["events"]
    assert {event["actor"] for event in events} == {ACTOR}
    assert len({event["recorded_at"] for event in events}) == 1, "one transaction"


def test_sessions_continued_here_stay_and_the_others_are_updated(
    service: Running, api: httpx.Client, there: Running, target: InMemoryStore, namespace: str
) -> None:
    for name in ("continued", "mirrored", "deleted"):
        put(api, name, FULL)
    api.post(
        "/v1/long-term-memory/", json={"memories": [{"id": f"{namespace}-r", "text": "Old", "namespace": namespace}]}
    )
    assert import_from(target, service.url, namespace=namespace).sessions == 3
    with httpx.Client(base_url=there.url, params={"namespace": namespace}) as here:
        body = {**here.get("/v1/working-memory/continued").json(), "data": {"step": 4}}
        assert here.put("/v1/working-memory/continued", json=body).status_code == 200
        assert here.delete("/v1/working-memory/deleted").status_code == 200
        assert here.delete("/v1/long-term-memory", params={"memory_ids": f"{namespace}-r"}).status_code == 200
        for name in ("continued", "mirrored", "deleted"):
            seen = api.get(f"/v1/working-memory/{name}").json()
            put(api, name, {**seen, "messages": seen["messages"][1:], "data": {"step": 9}})
        done = import_from(target, service.url, namespace=namespace)
        assert (done.sessions, done.continued, done.known_records) == (1, 2, 1)
        assert here.get("/v1/working-memory/continued").json()["data"]["step"] == 4
        mirrored = here.get("/v1/working-memory/mirrored").json()
        assert (mirrored["data"], [item["id"] for item in mirrored["messages"]]) == ({"step": 9}, ["m2"])
        assert here.get("/v1/working-memory/deleted").status_code == 404
        assert here.get(f"/v1/long-term-memory/{namespace}-r").status_code == 404


@pytest.mark.parametrize(("check", "changed"), [("_continued", "data"), ("_same", "version")])
def test_a_repeated_import_that_does_not_compare_is_noticed(
    service: Running,
    api: httpx.Client,
    there: Running,
    target: InMemoryStore,
    namespace: str,
    monkeypatch: pytest.MonkeyPatch,
    check: str,
    changed: str,
) -> None:
    async def never(*arguments: object) -> bool:
        return False

    put(api, "s", FULL)
    import_from(target, service.url, namespace=namespace)
    with httpx.Client(base_url=there.url, params={"namespace": namespace}) as here:
        if changed == "data":
            body = {**here.get("/v1/working-memory/s").json(), "data": {"step": 4}}
            assert here.put("/v1/working-memory/s", json=body).status_code == 200
        before = here.get("/v1/sessions/s/state").json()
        monkeypatch.setattr(ams_importer, check, never if check == "_continued" else lambda *arguments: False)
        import_from(target, service.url, namespace=namespace)
        assert here.get("/v1/sessions/s/state").json()[changed] != before[changed]


def test_the_command_reports_its_result(service: Running, api: httpx.Client, cli: Cli, namespace: str) -> None:  # noqa: F811
    name = f"s-{secrets.token_hex(4)}"
    put(api, name, FULL)
    there = cli.elsewhere(namespace)
    answers = there.json("import-ams", service.url, "--dry-run")
    assert (answers["unchanged"], answers["refused"]) == (1, [])  # both use one database
    assert "0 sessions" in there("import-ams", service.url).out
    assert there.try_("import-ams", "ftp://x").code == 2
