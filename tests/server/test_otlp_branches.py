"""Where reported calls go: into one session, or its branches, in any order and at once. Source: adapters IN-3."""

import asyncio
import json
import random
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest

from ledger.application.handle import NamespaceHandle
from ledger.application.recording import recorded_calls
from ledger.memory import MemoryLedger
from tests.server.conftest import Running, Transcript
from tests.support.model_spans import (
    asked,
    attributes_of_call,
    said,
    span_json,
    traces_json,
)
from tests.support.reported_days import ANSWER, CALL, DAY, GAVE, HELLO, HI, TRACES, WHERE, WHOLE, send

pytestmark = pytest.mark.postgres


def test_order_retries_and_batches_do_not_matter__IN_3(
    api: httpx.Client, session: str, shown: Transcript, seed: int
) -> None:
    """Source: adapters IN-3."""
    spans = [span_json(attributes_of_call(session, *each), span=at + 1) for at, each in enumerate(DAY)]
    chosen = random.Random(seed)
    for turn in range(4):
        name = f"{session}-{turn}"
        sent = [json.loads(json.dumps(span).replace(session, name)) for span in spans]
        sent += chosen.sample(sent, 2)
        chosen.shuffle(sent)
        while sent:
            count = chosen.randint(1, len(sent))
            send(api, *sent[:count])
            del sent[:count]
        assert shown(name) == WHOLE
        records = [
            event
            for event in api.get(f"/v1/sessions/{name}/events").json()["events"]
            if event["type"] == "entry.added" and str(event["payload"]["entry_id"]).startswith("otel-")
        ]
        assert len(records) == 3, "one record for each span"


def test_writers_at_once_lose_nothing_and_double_nothing__IN_13(
    api: httpx.Client, service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    """Source: adapters IN-13."""
    history, spans = [], []
    for turn in range(12):
        question, reply = said("user", f"question {turn}"), said("assistant", f"answer {turn}")
        history.append(question)
        spans.append(span_json(attributes_of_call(session, [*history], [reply]), span=turn + 1))
        history.append(reply)

    def post(span: dict[str, Any]) -> int:
        body = traces_json(span)
        with httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=60) as client:
            return client.post(TRACES, json=body).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(post, [*spans, *reversed(spans)])) == {200}
    found = [text for _, text in shown(session)]
    assert found == [text for turn in range(12) for text in (f"question {turn}", f"answer {turn}")]
    assert not shown(f"{session}~2")


def test_two_answers_to_one_question_are_two_branches__IN_3(
    api: httpx.Client, service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    """The rule's negative control: without a compare of tool calls these would be one. Source: adapters IN-3."""
    other = asked("c1", "find", order=9999)
    spans = [
        span_json(attributes_of_call(session, [HI], [CALL]), span=1),
        span_json(attributes_of_call(session, [HI], [other]), span=2),
        span_json(attributes_of_call(session, [HI, other, GAVE], [ANSWER]), span=3),
        span_json(attributes_of_call(session, [said("user", "A title, please")], [said("assistant", "8812")]), span=4),
    ]

    def post(span: dict[str, Any]) -> int:
        with httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=60) as client:
            return client.post(TRACES, json=traces_json(span)).status_code

    for span in spans:
        send(api, span)
    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(post, spans * 4)) == {200}
    calls = {shown(session)[1][1], shown(f"{session}~2")[1][1]}
    assert calls == {'find({"order":8812})', 'find({"order":9999})'}
    assert shown(f"{session}~2")[-1] == ("assistant", "In the depot.")
    assert shown(f"{session}~3") == [("user", "A title, please"), ("assistant", "8812")]
    assert not shown(f"{session}~4")


def test_branches_that_begin_at_once_are_each_stored_once__IN_3(
    service: Running, namespace: str, session: str, api: httpx.Client, shown: Transcript
) -> None:
    """Source: adapters IN-3."""
    send(api, span_json(attributes_of_call(session, [HI], [HELLO]), span=1))
    spans = [
        span_json(attributes_of_call(session, [HI], [said("assistant", f"answer {turn}")]), span=turn + 2)
        for turn in range(5)
    ]

    def post(span: dict[str, Any]) -> int:
        with httpx.Client(base_url=service.url, params={"namespace": namespace}, timeout=60) as client:
            return client.post(TRACES, json=traces_json(span)).status_code

    with ThreadPoolExecutor(8) as threads:
        assert set(threads.map(post, spans * 3)) == {200}
    found = sorted(shown(f"{session}~{number}")[-1][1] for number in range(2, 7))
    assert found == [f"answer {turn}" for turn in range(5)]
    assert not shown(f"{session}~7")


def test_an_agent_span_that_repeats_its_calls_makes_no_branch__IN_7(
    api: httpx.Client, session: str, shown: Transcript
) -> None:
    """Source: adapters IN-7."""
    agent = attributes_of_call(session, [HI, HELLO, WHERE], [ANSWER], gen_ai__operation__name="invoke_agent")
    spans = [span_json(attributes_of_call(session, *each), span=at + 2) for at, each in enumerate(DAY)]
    send(api, span_json(agent, span=1, at=9), *spans)
    assert shown(session) == WHOLE
    assert not shown(f"{session}~2")


def test_instructions_that_change_begin_no_branch__IN_7(
    api: httpx.Client, service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    """Source: adapters IN-7."""
    for number, each in enumerate(DAY):
        first = [said("system", f"It is {number} o'clock.")] if number == 2 else []
        attributes = attributes_of_call(session, [*first, *each[0]], each[1])
        if not first:
            attributes["gen_ai.system_instructions"] = f'[{{"type": "text", "content": "It is {number} o\'clock."}}]'
        send(api, span_json(attributes, span=number + 1))
    assert shown(session) == [("system", "It is 0 o'clock."), *WHOLE]
    assert not shown(f"{session}~2")
    ledger = MemoryLedger(NamespaceHandle(service.service.services, namespace, "reader"))
    history = asyncio.run_coroutine_threadsafe(ledger.get_history(session), service.loop).result(30)
    assert [each.content for each in history.entries if each.role == "system"][1:] == [
        "It is 1 o'clock.",
        "It is 2 o'clock.",
    ]


def test_a_session_that_was_cleared_or_edited_goes_on__IN_3(
    api: httpx.Client, service: Running, namespace: str, session: str, shown: Transcript
) -> None:
    """What a person removes does not come back with the next call, which repeats it. Source: adapters IN-3."""
    ledger = MemoryLedger(NamespaceHandle(service.service.services, namespace, "ann"))

    def run(work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, service.loop).result(30)

    spans = [span_json(attributes_of_call(session, *each), span=at + 1) for at, each in enumerate(DAY)]
    send(api, spans[0])
    hi, hello = run(ledger.get_transcript(session))
    run(ledger.remove_entry(session, hello.entry_id))
    run(ledger.edit_entry(session, hi.entry_id, "Hi there"))
    run(ledger.add_user_message(session, "a note of mine"))
    send(api, spans[1])
    assert shown(session) == [("user", "Hi there"), ("user", "a note of mine"), *WHOLE[2:4]]
    run(ledger.clear_session(session))
    send(api, spans[2])
    assert shown(session) == WHOLE
    assert not shown(f"{session}~2")


def test_a_session_with_many_branches_stays_fast_and_loses_nothing__IN_3(
    api: httpx.Client, session: str, shown: Transcript, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Source: adapters IN-3."""
    monkeypatch.setattr(recorded_calls, "MOST_BRANCHES", 2)
    answers = [said("assistant", f"answer {number}") for number in range(4)]
    spans = [span_json(attributes_of_call(session, [HI], [each]), span=at + 1) for at, each in enumerate(answers)]
    spans.append(span_json(attributes_of_call(session, [said("user", "A title")], [HELLO]), span=9))
    for span in [*spans, *spans]:
        send(api, span)
    names = [each["session_id"] for each in api.get("/v1/sessions").json()["sessions"]]
    assert len(names) == 5
    last = {tuple(text for _, text in shown(name)) for name in names}
    assert last == {*(("Hi", f"answer {number}") for number in range(4)), ("A title", "Hello, what is it?")}


def test_a_refused_branch_leaves_no_fork__IN_13(api: httpx.Client, session: str, shown: Transcript) -> None:
    """Source: adapters IN-13."""
    send(api, span_json(attributes_of_call(session, [HI], [HELLO]), span=1))
    call = {"type": "tool_call", "id": "c", "name": "n" * 1_000, "arguments": {}}
    large = attributes_of_call(session, [HI], [{"role": "assistant", "parts": [call]}])
    answer = api.post(TRACES, json=traces_json(span_json(large, span=2)))
    assert (answer.status_code, answer.json()["code"]) == (422, "nothing_stored")
    assert "over a limit of an entry" in answer.json()["detail"]
    assert not shown(f"{session}~2")
    assert api.get(f"/v1/sessions/{session}~2/stats").status_code == 404
