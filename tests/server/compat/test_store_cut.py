"""http B4: a read that the store does not answer is 503, never 404, and costs nothing afterwards."""

from collections.abc import Iterator

import httpx
import pytest
from agent_memory_client import MemoryAPIClient, MemoryClientConfig
from agent_memory_client.exceptions import MemoryServerError
from agent_memory_client.models import MemoryMessage, WorkingMemory

from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.killable_server import KillableServer, killable_server

pytestmark = [
    pytest.mark.postgres,
    pytest.mark.xdist_group("killed servers"),
    pytest.mark.filterwarnings("ignore:get_working_memory is deprecated:DeprecationWarning"),
]

SAID = [MemoryMessage(role="user", content=f"text {number}", id=f"m{number}") for number in range(4)]


@pytest.fixture
def cut() -> Iterator[tuple[KillableServer, Running]]:
    """A service, and a database of its own that can be taken from it."""
    with killable_server() as (killable, database), running(killable.target(database), worker=False) as in_flight:
        yield killable, in_flight
        killable.start()


async def test_a_failed_read_is_reported_and_loses_no_message__B4(cut: tuple[KillableServer, Running]) -> None:
    """http W-5, W-54: what is read as absent would be created anew, and then written over."""
    killable, service = cut
    config = MemoryClientConfig(base_url=service.url, timeout=30)
    async with MemoryAPIClient(config) as client:
        await client.put_working_memory("s", WorkingMemory(session_id="s", messages=SAID, data={"kept": 1}))
        killable.kill()
        answer = http_client.get(f"{service.url}/v1/working-memory/s")
        assert answer.status_code == 503
        assert int(answer.headers["retry-after"]) >= 1
        with pytest.raises(MemoryServerError) as answers:
            await client.get_or_create_working_memory("s")
        assert answers.value.status_code == 503
        killable.start()
        await client.set_working_memory_data("s", {"new": 2})
    after = http_client.get(f"{service.url}/v1/working-memory/s").json()
    assert [message["id"] for message in after["messages"]] == [message.id for message in SAID]
    assert after["data"]["new"] == 2


async def test_a_write_that_saw_nothing_costs_no_message__B4(
    client: MemoryAPIClient, api: httpx.Client, session: str
) -> None:
    """http W-54: the body that a client makes when it takes a failed read for an empty session."""
    path = f"/v1/working-memory/{session}"
    await client.put_working_memory(session, WorkingMemory(session_id=session, messages=SAID))
    await client.put_working_memory(session, WorkingMemory(session_id=session, messages=[], data={"new": 2}))
    stored = api.get(path).json()
    assert (len(stored["messages"]), stored["data"]) == (len(SAID), {"new": 2})
    # the negative control: who proves to have seen the messages does empty the list
    assert api.put(path, json={**stored, "messages": []}).status_code == 200
    assert api.get(path).json()["messages"] == []
