"""Summary views, partitions, runs and tasks, by the published client and by hand. Source: http W-36 … W-38, C23."""

import asyncio
from collections.abc import Coroutine, Iterator
from typing import Any, TypeVar

import httpx
import pytest
from agent_memory_client import MemoryAPIClient
from agent_memory_client.models import ClientMemoryRecord, CreateSummaryViewRequest

from ledger.application.auditing.stored_log import verify
from ledger.application.handle import NamespaceHandle
from ledger.application.summarizing import summary_view_runs, summary_view_use
from ledger.worker import Worker
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.token_keeper import Keeper
from tests.support.worker_scene import at_once

pytestmark = pytest.mark.postgres

T = TypeVar("T")

VIEW = {"source": "long_term", "group_by": ["user_id"]}


def remember(api: httpx.Client, namespace: str, *texts: str, user_id: str = "mia") -> None:
    records = [
        {"id": f"{namespace}-{user_id}-{at}", "text": text, "user_id": user_id, "namespace": namespace}
        for at, text in enumerate(texts)
    ]
    assert api.post("/v1/long-term-memory/", json={"memories": records}).status_code == 200


@pytest.fixture
def view(api: httpx.Client, namespace: str) -> str:
    """A view of this test's namespace by user, which has two users."""
    remember(api, namespace, "Mia likes tea", "Mia lives in Oslo")
    remember(api, namespace, "Ben has a cat", user_id="ben")
    answer = api.post("/v1/summary-views", json=VIEW)
    assert answer.status_code == 200
    return str(answer.json()["id"])


def work(service: Running, namespace: str) -> int:
    """Let a worker do in the service's process what is due."""

    async def once() -> int:
        worker = Worker(service.service.services, settings=at_once(), namespaces=[namespace])
        try:
            return await worker.run_once()
        finally:
            await worker.stop()

    return on_loop(service, once())


def on_loop(service: Running, work: Coroutine[Any, Any, T]) -> T:
    """Return the result of *work* in the service's event loop."""
    return asyncio.run_coroutine_threadsafe(work, service.loop).result(60)


def stored(service: Running, namespace: str) -> list[str]:
    """Return the types of the events about summary views."""
    events = on_loop(service, service.service.store.events.read_stream(summary_view_use.views_stream(namespace)))
    return [event.type.removeprefix("summary_view.") for event in events]


async def test_every_method_of_the_client__C23(client: MemoryAPIClient, service: Running, namespace: str) -> None:
    record = ClientMemoryRecord(id=f"{namespace}-a", text="Mia likes tea", user_id="mia", namespace=namespace)
    await client.create_long_term_memory([record])
    request = CreateSummaryViewRequest(
        name="tea", source="long_term", group_by=["user_id"], filters={"namespace": namespace}, time_window_days=30
    )
    view = await client.create_summary_view(request)
    assert (view.name, view.group_by, view.time_window_days, view.continuous) == ("tea", ["user_id"], 30, False)
    assert await client.get_summary_view(view.id) == view
    assert view in await client.list_summary_views()

    task = await client.run_summary_view(view.id, force=True)
    assert (task.status, task.type, task.view_id) == ("pending", "summary_view_full_run", view.id)
    await asyncio.to_thread(work, service, namespace)
    done = await client.get_task(task.id)
    assert done is not None
    assert (done.status, done.error_message) == ("success", None)
    assert (done.created_at or "") <= (done.started_at or "") <= (done.completed_at or "")
    (stored,) = await client.list_summary_view_partitions(view.id, user_id="mia")
    assert (stored.summary, stored.memory_count) == ("- Mia likes tea", 1)
    assert await client.list_summary_view_partitions(view.id, user_id="ben") == []
    now = await client.run_summary_view_partition(view.id, {"user_id": "mia"})
    assert now.summary == stored.summary
    assert (now.computed_at or "") > (stored.computed_at or "")

    assert (await client.delete_summary_view(view.id)).status == "ok"
    assert await client.get_summary_view(view.id) is None
    assert view.id not in [each.id for each in await client.list_summary_views()]
    assert await client.get_task("no-such-task") is None


def test_a_partition_has_every_key_also_if_it_is_empty__W_37(api: httpx.Client, view: str) -> None:
    path = f"/v1/summary-views/{view}/partitions"
    mia = api.post(f"{path}/run", json={"group": {"user_id": "mia"}}).json()
    eve = api.post(f"{path}/run", json={"group": {"user_id": "eve"}}).json()
    assert list(mia) == ["view_id", "group", "summary", "memory_count", "empty", "empty_reason", "computed_at"]
    assert (mia["memory_count"], mia["empty"], mia["empty_reason"]) == (2, False, None)
    assert (eve["memory_count"], eve["empty"], eve["empty_reason"], eve["summary"]) == (
        0,
        True,
        "no_matching_memories",
        "",
    )
    assert api.get(path).json() == [eve, mia]
    assert api.get(path, params={"user_id": "mia"}).json() == [mia]
    assert api.get(path, params={"session_id": "s"}).json() == []
    assert api.get(path, params={"namespace": "elsewhere"}).json() == []


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        ({**VIEW, "source": "working_memory"}, 400, "source must be 'long_term'"),
        ({**VIEW, "group_by": ["user_id", "invalid"]}, 400, "Unsupported group_by fields: invalid"),
        ({**VIEW, "group_by": ["topics"]}, 400, "Unsupported group_by fields: topics"),
        ({**VIEW, "group_by": ["user_id", "user_id"]}, 400, "must not name a field twice"),
        ({**VIEW, "filters": {"text": "x"}}, 400, "Unsupported filter fields: text"),
        ({**VIEW, "filters": {"namespace": ["a", "b"]}}, 400, "a view summarizes one namespace"),
        ({**VIEW, "filters": {"event_date": "yesterday"}}, 422, "must be a time"),
        ({**VIEW, "filters": {"topics": {"like": "x"}}}, 422, "unknown operator"),
        ({**VIEW, "filters": {"memory_type": "opinion"}}, 422, "must be one of"),
        ({**VIEW, "filters": {"user_id": "a\x00b"}}, 422, ""),
        ({**VIEW, "source": "elsewhere"}, 422, ""),
        ({**VIEW, "time_window_days": 0}, 422, ""),
        ({**VIEW, "group_by": "user_id"}, 422, ""),
        ({"group_by": []}, 422, "Field required"),
    ],
)
def test_a_wrong_definition_is_refused_and_nothing_is_stored__W_36(
    api: httpx.Client, namespace: str, service: Running, body: dict[str, object], status: int, said: str
) -> None:
    answer = api.post("/v1/summary-views", json=body)
    assert answer.status_code == status, answer.text
    assert said in str(answer.json()["detail"])
    assert stored(service, namespace) == []


def test_a_view_is_found_by_its_id_and_else_missing__W_36(api: httpx.Client, view: str) -> None:
    for method, path in (
        ("GET", ""),
        ("POST", "/partitions/run"),
        ("GET", "/partitions"),
        ("POST", "/run"),
    ):
        body = {"json": {"group": {"user_id": "mia"}}} if method == "POST" else {}
        assert api.request(method, f"/v1/summary-views/{view}{path}", **body).status_code == 200  # type: ignore[arg-type]
        missing = api.request(method, f"/v1/summary-views/nothing{path}", **body)  # type: ignore[arg-type]
        assert (missing.status_code, missing.json()) == (404, {"detail": "SummaryView nothing not found"})
    assert api.delete("/v1/summary-views/nothing").json() == {"status": "ok"}
    answer = api.get("/v1/tasks/nothing")
    assert (answer.status_code, answer.json()) == (404, {"detail": "Task nothing not found"})


@pytest.mark.parametrize("group", [{}, {"user_id": "a", "session_id": "b"}, {"session_id": "b"}])
def test_a_group_has_exactly_the_fields_of_the_view__W_37(api: httpx.Client, view: str, group: dict[str, str]) -> None:
    answer = api.post(f"/v1/summary-views/{view}/partitions/run", json={"group": group})
    assert (answer.status_code, answer.json()["detail"]) == (400, "group must have exactly these fields: user_id")
    assert api.get(f"/v1/summary-views/{view}/partitions").json() == []


def test_a_task_has_the_id_that_its_client_chose_and_is_requested_once__W_38(
    api: httpx.Client, view: str, service: Running, namespace: str
) -> None:
    path, task_id = f"/v1/summary-views/{view}/run", f"task-{namespace}"
    first = api.post(path, json={"task_id": task_id}).json()
    assert api.post(path, json={"task_id": task_id}).json() == first
    assert api.get(f"/v1/tasks/{task_id}").json() == first
    other = api.post("/v1/summary-views", json=VIEW).json()["id"]
    refused = api.post(f"/v1/summary-views/{other}/run", json={"task_id": task_id})
    assert (refused.status_code, "another view" in refused.json()["detail"]) == (400, True)
    work(service, namespace)
    done = api.post(path, json={"task_id": task_id}).json()
    assert (done["status"], done["created_at"]) == ("success", first["created_at"])


def test_an_id_that_no_path_can_name_is_refused__W_38(api: httpx.Client, view: str) -> None:
    refused = api.post(f"/v1/summary-views/{view}/run", json={"task_id": "a/b"})
    assert (refused.status_code, refused.json()["detail"][0]["loc"]) == (422, ["body", "task_id"])


def test_what_is_stored_is_bounded(api: httpx.Client, view: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_view_use, "MOST_VIEWS", 1)
    monkeypatch.setattr(summary_view_use, "MOST_PARTITIONS", 1)
    monkeypatch.setattr(summary_view_runs, "MOST_OPEN_RUNS", 1)
    run = f"/v1/summary-views/{view}/partitions/run"
    assert [api.post("/v1/summary-views", json=VIEW).status_code] == [400]
    users = ("mia", "mia", "ben")
    assert [api.post(run, json={"group": {"user_id": user}}).status_code for user in users] == [200, 200, 400]
    assert [api.post(f"/v1/summary-views/{view}/run", json={}).status_code for _ in range(2)] == [200, 400]


def test_everything_is_in_the_log_of_the_namespace(
    api: httpx.Client, view: str, namespace: str, service: Running
) -> None:
    """http W-76: definition, result and deletion are chained events that `verify` proves."""
    api.post(f"/v1/summary-views/{view}/partitions/run", json={"group": {"user_id": "mia"}})
    api.delete(f"/v1/summary-views/{view}")
    assert stored(service, namespace) == ["created", "partition_summarized", "deleted"]
    handle = NamespaceHandle(service.service.services, namespace)
    report = on_loop(service, verify(handle))
    assert (report.verdict, report.findings) == ("OK-CHAINED", ())


@pytest.fixture(scope="module")
def guarded(server: Server, shared_database: str) -> Iterator[Running]:
    """A service that wants tokens."""
    with running(server.target(shared_database), auth_mode="token") as in_flight:
        yield in_flight


def test_views_stay_in_the_namespaces_and_scopes_of_a_credential__W_75(
    guarded: Running, server: Server, shared_database: str, api: httpx.Client, view: str, namespace: str
) -> None:
    """Nobody else learns of a view, its results or its task; who may only read changes nothing."""
    keeper = Keeper(server.database(shared_database))
    task = api.post(f"/v1/summary-views/{view}/run", json={}).json()["id"]
    reads = [f"/v1/summary-views/{view}", f"/v1/summary-views/{view}/partitions", f"/v1/tasks/{task}"]
    writes = [
        ("POST", f"/v1/summary-views/{view}/partitions/run", {"group": {"user_id": "mia"}}),
        ("POST", f"/v1/summary-views/{view}/run", {}),
        ("POST", "/v1/summary-views", {**VIEW, "filters": {"namespace": namespace}}),
    ]

    def statuses(*scopes: str, home: str) -> tuple[list[int], list[int]]:
        headers = {"authorization": f"Bearer {keeper.add(*scopes, namespaces=(home,))}"}
        with httpx.Client(base_url=guarded.url, headers=headers, timeout=30) as caller:
            listed = caller.get("/v1/summary-views")
            assert listed.status_code != 200 or (view in listed.text) == (home == namespace)
            return (
                [caller.get(path).status_code for path in reads],
                [caller.request(method, path, json=body).status_code for method, path, body in writes],
            )

    assert statuses("read", "write", home=namespace) == ([200, 200, 200], [200, 200, 200])
    assert statuses("read", home=namespace) == ([200, 200, 200], [403, 403, 403])
    assert statuses("write", home=namespace) == ([403, 403, 403], [403, 200, 403])
    assert statuses("read", "write", home=f"{namespace}-2") == ([404, 404, 404], [404, 404, 403])


def test_another_model_needs_the_scope_of_who_pays(
    guarded: Running, server: Server, shared_database: str, namespace: str
) -> None:
    keeper = Keeper(server.database(shared_database))
    for scopes, status in ((("read", "write"), 403), (("read", "write", "admin"), 200)):
        headers = {"authorization": f"Bearer {keeper.add(*scopes, namespaces=(namespace,))}"}
        answer = http_client.post(
            f"{guarded.url}/v1/summary-views", json={**VIEW, "model_name": "gpt-5-pro"}, headers=headers
        )
        assert answer.status_code == status


def test_without_long_term_memory_there_are_no_views__W_35(server: Server, shared_database: str) -> None:
    with running(server.target(shared_database), long_term_memory=False) as service:
        for method, path in (("GET", "/v1/summary-views"), ("POST", "/v1/summary-views"), ("GET", "/v1/tasks/t")):
            answer = httpx.request(method, f"{service.url}{path}", json=VIEW if method == "POST" else None)
            assert (answer.status_code, answer.json()) == (400, {"detail": "Long-term memory is disabled"})
