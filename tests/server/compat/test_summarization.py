"""Automatic summarization by a PUT: http C13, C14, B3 and B5, with a model behind a real endpoint."""

from collections.abc import Iterator

import httpx
import pytest

from ledger.settings import Settings
from tests.server.conftest import Running, running
from tests.support.databases import Server
from tests.support.model_endpoint import Endpoint, hang, raw, says, serving, status
from tests.support.working_memory import a_message, put, texts

#: "user: ", 37 words and a number are 41 tokens.
WORDS = " ".join(["word"] * 37)


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    with serving() as item:
        yield item


def with_model(endpoint: Endpoint, **changes: object) -> Settings:
    return Settings(
        summarizer_base_url=endpoint.url,
        summarizer_model="gpt-3.5-turbo",
        summarizer_api_key="k",
        summarizer_max_retries=0,
        **changes,
    )


@pytest.fixture
def summarizing(server: Server, shared_database: str, endpoint: Endpoint) -> Iterator[Running]:
    with running(
        server.target(shared_database),
        settings=with_model(endpoint),
        summarization_wait_seconds=5,
        worker=False,
    ) as in_flight:
        yield in_flight


@pytest.fixture
def api(summarizing: Running, namespace: str) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=summarizing.url, params={"namespace": namespace}, timeout=60) as client:
        yield client


def many(count: int, start: int = 0) -> list[dict]:
    return [a_message(f"{WORDS} {number:03}", id=f"m{number}") for number in range(start, start + count)]


def put_within(api: httpx.Client, session: str, window: int, messages: list[dict], **body) -> dict:
    answer = api.put(
        f"/v1/working-memory/{session}",
        json={"messages": messages, **body},
        params={"context_window_max": window},
    )
    assert answer.status_code == 200, answer.text
    return answer.json()


def test_nothing_at_the_threshold_and_a_summary_above_it__C13(
    api: httpx.Client, endpoint: Endpoint, session: str
) -> None:
    """http W-41: L 1000, T 700; at most 400 tokens stay."""
    before = put_within(api, session, 1000, many(17))
    assert (before["context"], len(before["messages"]), len(endpoint.asked)) == (None, 17, 0)
    after = put_within(api, session, 1000, [*many(17), *many(1, 17)])
    assert after["context"] == "A summary."
    assert [message["id"] for message in after["messages"]] == [f"m{n}" for n in range(9, 18)]
    assert after["tokens"] == 127, "what the model used"
    lines = [line for line in endpoint.prompts[-1].splitlines() if line.startswith("user: ")]
    assert [line.rpartition(" ")[2] for line in lines] == [f"{n:03}" for n in range(9)], "oldest first"
    endpoint.answers(says("A second summary."))
    again = put_within(api, session, 1000, [*after["messages"], *many(9, 18)])
    assert again["context"] == "A second summary."
    assert "A summary." in endpoint.prompts[-1], "the summary before is handed on"


def test_it_can_be_turned_off__C14(server: Server, shared_database: str, endpoint: Endpoint, session: str) -> None:
    """http W-12."""
    off = {"enable_working_memory_summarization": False, "worker": False}
    with (
        running(server.target(shared_database), settings=with_model(endpoint), **off) as service,
        httpx.Client(base_url=service.url, timeout=30) as client,
    ):
        assert len(put_within(client, session, 1000, many(50))["messages"]) == 50
    assert endpoint.asked == []


@pytest.mark.parametrize(
    "behaviour",
    [status(500), says(""), says("NONE"), raw(b"garbage"), says("word " * 20_000)],
    ids=["error", "empty", "NONE", "garbage", "over-long"],
)
def test_a_model_that_fails_loses_nothing__B5(
    api: httpx.Client, endpoint: Endpoint, session: str, behaviour: object
) -> None:
    """http W-41, W-44, trust I-53."""
    endpoint.answers(behaviour)
    answer = put_within(api, session, 1000, many(30))
    assert (answer["context"], len(answer["messages"])) == (None, 30)


def test_150_messages_with_a_small_model_are_each_active_or_covered__B5(
    api: httpx.Client, endpoint: Endpoint, summarizing: Running, namespace: str, session: str
) -> None:
    """R-004-5: the generation window is 4,096 tokens, so there are several calls, oldest first."""
    answer = put_within(api, session, 4096, many(150))
    assert answer["context"] == "A summary."
    assert len(endpoint.asked) > 1
    stored = [message["id"] for message in answer["messages"]]
    answers = [line.rpartition(" ")[2] for prompt in endpoint.prompts for line in prompt.splitlines() if "word" in line]
    assert [int(number) for number in answers] == list(range(150 - len(stored)))
    assert stored == [f"m{n}" for n in range(150 - len(stored), 150)]


def test_a_slow_model_is_waited_for_a_while_and_works_on_in_the_background__W_45(
    server: Server, shared_database: str, endpoint: Endpoint, namespace: str, session: str
) -> None:
    endpoint.answers(hang)
    waiting = {"summarization_wait_seconds": 0.2, "worker": False}
    with (
        running(server.target(shared_database), settings=with_model(endpoint), **waiting) as service,
        httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=30) as client,
    ):
        answer = put_within(client, session, 1000, many(30))
        assert (answer["context"], len(answer["messages"])) == (None, 30)
        endpoint.released.set()
        for _ in range(200):
            now = client.get(f"/v1/working-memory/{session}").json()
            if now["context"]:
                break
        assert (now["context"], len(now["messages"])) == ("A late summary.", 9)


def test_a_put_does_not_wait_until_its_own_time_is_over__W_45(
    server: Server, shared_database: str, endpoint: Endpoint, namespace: str, session: str
) -> None:
    """It was carried out, so it is answered 200, however long it may wait."""
    endpoint.answers(hang)
    waiting = {"summarization_wait_seconds": 30, "request_timeout_s": 2, "worker": False}
    with (
        running(server.target(shared_database), settings=with_model(endpoint), **waiting) as service,
        httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=30) as client,
    ):
        answer = put_within(client, session, 1000, many(30))
        assert len(answer["messages"]) == 30
        endpoint.released.set()


def test_a_session_deleted_while_it_is_summarised_stays_deleted__B3(
    server: Server, shared_database: str, endpoint: Endpoint, namespace: str, session: str
) -> None:
    """http W-48."""
    endpoint.answers(hang)
    waiting = {"summarization_wait_seconds": 0, "worker": False}
    with (
        running(server.target(shared_database), settings=with_model(endpoint), **waiting) as service,
        httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=30) as client,
    ):
        put_within(client, session, 1000, many(30))
        assert endpoint.arrived.wait(10)
        assert client.delete(f"/v1/working-memory/{session}").status_code == 200
        endpoint.released.set()
        put(client, session, messages=[a_message("another life")])
        assert texts(client.get(f"/v1/working-memory/{session}")) == ["another life"]
        assert client.get(f"/v1/working-memory/{session}").json()["context"] is None


def test_the_generation_model_is_asked_where_only_an_endpoint_is_set__W_12(
    server: Server, shared_database: str, endpoint: Endpoint, namespace: str, session: str
) -> None:
    settings = Settings(summarizer_base_url=endpoint.url, summarizer_api_key="k", summarizer_max_retries=0)
    own = {"generation_model": "my-model", "worker": False}
    with (
        running(server.target(shared_database), settings=settings, **own) as service,
        httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=30) as client,
    ):
        assert put_within(client, session, 1000, many(30))["context"] == "A summary."
    assert {request["model"] for request in endpoint.asked} == {"my-model"}


def test_the_model_of_the_ledgers_settings_takes_precedence__W_12(
    server: Server, shared_database: str, endpoint: Endpoint, namespace: str, session: str
) -> None:
    """As the page of the settings says, also in the config of a new session."""
    settings = Settings(summarizer_model="first", summarizer_base_url=endpoint.url, summarizer_api_key="k")
    with (
        running(server.target(shared_database), settings=settings, generation_model="second", worker=False) as service,
        httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=30) as client,
    ):
        assert put_within(client, session, 1000, many(30))["context"] == "A summary."
    assert {request["model"] for request in endpoint.asked} == {"first"}
