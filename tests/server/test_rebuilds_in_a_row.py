"""One request spends a bounded number of summaries on a rebuild; a worker does the rest, and the end is the same."""

import time
from collections.abc import Callable
from typing import Any

import httpx

from ledger.errors import SummarizerFailed
from ledger.events import RebuildAnswered
from ledger.ports import SummaryText
from ledger.stores.in_memory import InMemoryStore
from ledger.worker import Worker
from projections.prompts import SummaryRequest
from tests.server.conftest import running
from tests.support.viewer_scene import ledger_of, on_loop
from tests.support.worker_scene import at_once

WANTED: dict[str, Any] = {"compactions": [{"type": "rolling_blocks", "size": 2, "max_summaries": 50}]}
ENTRIES = [{"role": "user", "content": f"message {number} " * 5, "entry_id": f"m-{number}"} for number in range(60)]
MOST = 4


class Counting:
    """A model whose texts depend on what it was asked alone, so that any run of it ends equally."""

    method, model = "llm", "house-model"

    def __init__(self) -> None:
        self.asked = 0

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        self.asked += 1
        return SummaryText(f"s {request.request_hash[:5]}", 10, 2)


class HalfOfThem(Counting):
    """Every other answer is none."""

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        answer = await super().summarize(request)
        if self.asked % 2:
            raise SummarizerFailed("empty", "no text")
        return answer


def until(api: httpx.Client, is_so: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
    """Return the rebuild's progress once *is_so*."""
    for _ in range(400):
        found: dict[str, Any] = api.get("/v1/sessions/s/rebuild").json()
        if is_so(found):
            return found
        time.sleep(0.025)
    raise AssertionError(found)


def ended(found: dict[str, Any]) -> bool:
    return bool(found["status"] != "running")


def asked_for(api: httpx.Client) -> None:
    answer = api.post("/v1/sessions/s/entries", json={"entries": ENTRIES})
    assert answer.status_code == 201, answer.text
    answer = api.put("/v1/sessions/s/config", json={"config": WANTED, "rebuild": True})
    assert answer.status_code == 202, answer.text


def summaries(api: httpx.Client) -> list[str]:
    return [each["text"] for each in api.get("/v1/sessions/s/state").json()["summaries"]]


def whole(**bound: int) -> tuple[int, list[str]]:
    """Return the calls that one request makes, and the summaries after it, without a worker."""
    model = Counting()
    with running(InMemoryStore(), worker=False, **bound) as service, httpx.Client(base_url=service.url) as api:
        service.service.services.compactor.set_summarizer(None, model)
        asked_for(api)
        found = until(api, ended)
        assert (found["status"], found["paused"]) == ("completed", False)
        return model.asked, summaries(api)


def test_one_request_asks_for_no_more_summaries_than_it_may_and_a_worker_for_the_rest__M_6() -> None:
    every, wanted = whole(compactions_in_a_row=1_000)
    assert every > 3 * MOST, "without the bound one request makes all calls"
    model = Counting()
    with (
        running(InMemoryStore(), worker=False, compactions_in_a_row=MOST) as service,
        httpx.Client(base_url=service.url) as api,
    ):
        services = service.service.services
        services.compactor.set_summarizer(None, model)
        asked_for(api)
        found = until(api, lambda found: found["paused"] or ended(found))
        assert (found["status"], found["paused"], found["summaries"], model.asked) == ("running", True, MOST, MOST)
        assert summaries(api) == [], "until the switch nothing is different"
        api.post("/v1/sessions/s/entries", json={"entries": [{**ENTRIES[0], "entry_id": "late"}]})
        time.sleep(0.2)
        assert model.asked == MOST, "another write asks for none, because a worker may be at it"

        on_loop(service, Worker(services, settings=at_once()).run_once())
        found = until(api, ended)
        assert (found["status"], found["paused"], model.asked) == ("completed", False, every)
        assert summaries(api) == wanted
        stored = on_loop(service, ledger_of(service).get_events("s"))
        pauses = [event.payload.paused for event in stored if isinstance(event.payload, RebuildAnswered)]
        assert pauses == [number % MOST == 0 for number in range(1, every + 1)], "a worker asks for as many at a time"


def test_calls_that_fail_are_paid_and_count__M_6() -> None:
    model = HalfOfThem()
    with (
        running(InMemoryStore(), worker=False, compactions_in_a_row=MOST) as service,
        httpx.Client(base_url=service.url) as api,
    ):
        service.service.services.compactor.set_summarizer(None, model)
        asked_for(api)
        found = until(api, lambda found: found["paused"] or ended(found))
        assert (found["paused"], found["summaries"], model.asked) == (True, MOST // 2, MOST)
