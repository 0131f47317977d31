"""Which session a reported call goes to, and how much is read for many of them. Source: adapters IN-3, IN-13."""

from typing import Any

import httpx
import pytest

from ledger.application.handle import NamespaceHandle
from ledger.application.recording.recorded_calls import record_call
from ledger.application.recording.seen_branches import SeenBranches
from ledger.application.services import Services
from ledger.events.names import check_name
from ledger.formats.importers.opentelemetry.otlp_records import records_of
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall, calls_of
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Transcript
from tests.support.counting_store import CountingStore
from tests.support.model_spans import attributes_of_call, said, span_json, traces_json
from tests.support.reported_days import send


def call_of(session: str, number: int) -> ReportedCall:
    spoken = [said("user", f"question {number}")], [said("assistant", f"answer {number}")]
    span = span_json(attributes_of_call(session, *spoken), span=number + 1)
    (call,) = calls_of(list(records_of({"resourceSpans": traces_json(span)["resourceSpans"]})))
    return call


async def reads_of(count: int, *, requests: int = 1) -> int:
    """Return how often the store is asked for *count* unrelated calls of one conversation, sent in some requests."""
    store = CountingStore(InMemoryStore())
    handle = NamespaceHandle(Services(store), "n", "exporter")
    calls = [call_of("s", number) for number in range(count)]
    for at in range(requests):
        some = calls[at::requests]
        seen = SeenBranches(some)
        for call in some:
            await record_call(handle, call, seen)
    return len(store.calls)


async def test_many_unrelated_calls_of_one_conversation_are_linear__IN_13() -> None:
    hundred, many = await reads_of(100), await reads_of(300)
    assert many <= 3.2 * hundred, (hundred, many)


async def test_a_look_at_all_branches_for_each_call_is_not_linear__control() -> None:
    few, many = await reads_of(10, requests=10), await reads_of(40, requests=40)
    assert many > 1.5 * 4 * few, (few, many)


@pytest.mark.parametrize(
    ("one", "other"), [("team/a", "team-a"), ("a b", "a-b"), ("x~2", "x-2"), ("-a", "a"), ("a" * 300, "a" * 301)]
)
def test_two_conversations_do_not_share_a_session__IN_3(one: str, other: str) -> None:
    names = [call_of(name, 1).session_id for name in (one, other)]
    assert len(set(names)) == 2
    assert [check_name(name, field="id") for name in names] == names
    assert not any("~" in name for name in names), "branches have such names"


@pytest.mark.postgres
def test_a_session_that_the_library_wrote_is_not_shown_twice__IN_3(
    api: httpx.Client, session: str, shown: Transcript
) -> None:
    entries: list[dict[str, Any]] = [{"role": "user", "content": "Hello"}, {"role": "assistant", "content": "Hi"}]
    assert api.post(f"/v1/sessions/{session}/entries", json={"entries": entries}).status_code == 201
    spoken = [said("user", "Hello")], [said("assistant", "Hi")]
    for _ in range(2):
        send(api, span_json(attributes_of_call(session, *spoken), span=1))
    assert shown(session) == [("user", "Hello"), ("assistant", "Hi")]
    log = api.get(f"/v1/sessions/{session}/events").json()["events"]
    reported = [event for event in log if str(event["payload"].get("entry_id", "")).startswith("otel-")]
    assert [event["type"] for event in reported] == ["entry.added", "entry.removed"], "it is stored beside, once"
