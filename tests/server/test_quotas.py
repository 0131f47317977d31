"""What one caller may do, while others go on. Source: trust S-9, I-56."""

import json

import httpx
import pytest

from ledger.errors import RateLimited
from ledger.server.traffic.quotas import Quotas
from ledger.server.traffic.rates import Rates
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running
from tests.support import http_client
from tests.support.databases import Server
from tests.support.token_keeper import Keeper


def add(running: Running, *contents: str, session_id: str = "s", role: str = "user", **headers: str) -> httpx.Response:
    entries = [{"role": role, "content": content} for content in contents]
    return http_client.post(
        f"{running.url}/v1/sessions/{session_id}/entries", json={"entries": entries}, headers=headers
    )


def refused(answer: httpx.Response, what: str, *, least_s: int, most_s: int) -> bool:
    """Tell whether *answer* is the refusal of trust S-9, with a time to wait that fits."""
    if answer.status_code != 429:
        return False
    assert (answer.json()["code"], answer.json()["detail"]) == ("rate_limited", f"too many {what}; slow down")
    assert least_s <= int(answer.headers["retry-after"]) <= most_s
    return True


def test_a_caller_that_asks_too_often_waits() -> None:
    with running(InMemoryStore(), rate_limit_per_s=0.1, rate_limit_burst=3) as in_flight:
        answers = [http_client.get(f"{in_flight.url}/v1/probe/list") for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert refused(answers[-1], "requests", least_s=5, most_s=10)


@pytest.mark.postgres
def test_guessing_tokens_is_rate_limited(server: Server, shared_database: str) -> None:
    """trust S-9: by the address, and not those who know theirs."""
    with running(
        server.target(shared_database), auth_mode="token", rate_limit_per_s=0.1, rate_limit_burst=3
    ) as in_flight:
        answers = [http_client.get(f"{in_flight.url}/v1/probe/list", headers={"x-api-key": "wrong"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [401, 401, 401, 429, 429]


def test_a_caller_who_writes_too_many_events_may_only_read_for_a_while() -> None:
    """The request that goes over is carried out, so nothing is half-written; the allowance is that of a minute."""
    with running(InMemoryStore(), event_limit_per_s=0.5) as in_flight:
        over = add(in_flight, *["hello"] * 40)
        late = add(in_flight, "more")
        patched = http_client.patch(f"{in_flight.url}/v1/sessions/s/data", json={"a": 1})
        shown = http_client.get(f"{in_flight.url}/v1/sessions/s/state")
        prompt = http_client.post(
            f"{in_flight.url}/v1/memory/prompt", json={"query": "q", "session": {"session_id": "s"}}
        )
        found = http_client.post(f"{in_flight.url}/v1/search", json={"query": "hello"})
    assert over.status_code == 201
    assert (prompt.status_code, found.status_code) == (200, 200)
    assert refused(late, "events", least_s=10, most_s=25), late.text
    assert refused(patched, "events", least_s=10, most_s=25)
    assert shown.json()["version"] == 41  # the session's opening is an event, too


def test_ten_thousand_tiny_messages_meet_the_quota_and_push_out_no_policy__I_56() -> None:
    with running(InMemoryStore(), event_limit_per_s=20) as in_flight:
        policy = {"kind": "system_instruction", "role": "system", "content": "never give refunds"}
        http_client.post(f"{in_flight.url}/v1/sessions/s/entries", json={"entries": [policy]})
        answers = [add(in_flight, *["x"] * 1_000) for _ in range(10)]
        stats = http_client.get(f"{in_flight.url}/v1/sessions/s/stats").json()
        context = http_client.get(f"{in_flight.url}/v1/sessions/s/context").json()
    acknowledged = sum(len(answer.json()["entries"]) for answer in answers if answer.status_code == 201)
    assert [answer.status_code for answer in answers] == [201] * 2 + [429] * 8
    assert stats["total_entries"] == acknowledged + 1
    assert "never give refunds" in json.dumps(context)


def test_an_import_is_counted_and_a_repeated_request_is_not() -> None:
    with running(InMemoryStore(), event_limit_per_s=0.5) as in_flight:
        repeated = [add(in_flight, *["hello"] * 25, **{"idempotency-key": "once"}) for _ in range(8)]
        exported = http_client.get(f"{in_flight.url}/v1/sessions/s/export")
        imported = http_client.post(
            f"{in_flight.url}/v1/sessions/t/import",
            content=exported.content,
            headers={"content-type": exported.headers["content-type"]},
        )
        late = add(in_flight, "more")
    assert [answer.status_code for answer in (*repeated, imported)] == [201] * 9
    assert refused(late, "events", least_s=30, most_s=50)


def test_a_caller_who_sends_too_many_bytes_may_only_read_that_day() -> None:
    with running(InMemoryStore(), body_bytes_per_day=10_000) as in_flight:
        assert add(in_flight, "x" * 12_000).status_code == 201
        assert refused(add(in_flight, "more"), "bytes", least_s=10_000, most_s=86_400)
        assert http_client.get(f"{in_flight.url}/v1/sessions/s/stats").status_code == 200


@pytest.mark.postgres
def test_callers_have_separate_allowances(server: Server, shared_database: str, namespace: str) -> None:
    keeper = Keeper(server.database(shared_database))
    with running(server.target(shared_database), auth_mode="token", event_limit_per_s=0.1) as in_flight:
        mine, theirs = keeper.add("write", namespaces=(namespace,)), keeper.add("write", namespaces=(namespace,))
        assert add(in_flight, *["hello"] * 20, **{"x-api-key": mine}).status_code == 201
        assert add(in_flight, "more", **{"x-api-key": mine}).status_code == 429
        assert add(in_flight, "hello", **{"x-api-key": theirs}).status_code == 201


def test_events_that_are_not_counted_are_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: the tests above see a service that forgets to count."""
    monkeypatch.setattr(Quotas, "spend_events", lambda self, count: None)
    with running(InMemoryStore(), event_limit_per_s=0.5) as in_flight:
        add(in_flight, *["hello"] * 40)
        assert not refused(add(in_flight, "more"), "events", least_s=10, most_s=25)


def test_rates_are_separate_and_in_bounded_memory() -> None:
    rates = Rates("requests", per_second=1, most=2, most_keys=100)
    for number in range(10_000):
        rates.take(f"key {number}", 0.0)
    assert len(rates) == 100
    rates.take("one", 0.0)
    rates.take("one", 0.0)
    with pytest.raises(RateLimited):
        rates.take("one", 0.5)
    rates.take("other", 0.5)
    rates.take("one", 1.6)


def test_free_requests_drop_no_key() -> None:
    rates = Rates("bytes", per_second=0.001, most=10, most_keys=100)
    rates.spend("one", 30, 0.0)
    for number in range(1_000):
        rates.spend(f"key {number}", 0, 0.0)
    assert len(rates) == 1
    with pytest.raises(RateLimited):
        rates.check("one", 1.0)


def test_an_allowance_fills_again_and_no_further() -> None:
    rates = Rates("events", per_second=2, most=10)
    rates.spend("one", 30, 0.0)
    with pytest.raises(RateLimited) as waiting:
        rates.check("one", 5.0)
    assert waiting.value.wait_s == 5
    rates.check("one", 10.0)
    rates.spend("one", 1, 1_000.0)
    rates.spend("one", 10, 1_000.0)
    with pytest.raises(RateLimited):
        rates.check("one", 1_000.0)
