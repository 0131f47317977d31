"""The law of `test_nothing_in_silence` for what agents report live, in the answers.

Source: adapters IN-13, IN-20.
"""

import asyncio
import json
import random
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import httpx
import pytest

from ledger.formats.importers.elements import unread
from ledger.formats.importers.elements.steps import GUESSED, NO_CALL, NO_RESULT, NOT_UNDERSTOOD
from ledger.formats.importers.opentelemetry import reported_notes
from ledger.stores.in_memory import InMemoryStore
from tests.importers.test_message_shapes import SHAPES, span_of
from tests.importers.test_nothing_in_silence import conversation, kinds, taken_in
from tests.server.conftest import running
from tests.support.http_client import JSON
from tests.support.model_spans import (
    Message,
    asked,
    attributes_of_call,
    logs_json,
    pairs_json,
    returned,
    said,
    span_json,
    traces_json,
)

#: How the answer counts each kind.
COUNTED = {
    NOT_UNDERSTOOD: r"(\d+) stored messages with parts that were not understood",
    GUESSED: r"(\d+) roles that were guessed",
    NO_CALL: r"(\d+) results of tools without a call before them",
    NO_RESULT: r"(\d+) calls of tools without a result in the request",
}


@pytest.fixture(scope="module")
def api() -> Iterator[httpx.Client]:
    with running(InMemoryStore()) as service, httpx.Client(base_url=service.url, timeout=30, headers=JSON) as client:
        yield client


def told(answer: httpx.Response) -> tuple[Counter[str], str]:
    """Return the notes that an *answer* counts, and its text."""
    assert answer.status_code == 200, answer.text
    partial = answer.json().get("partialSuccess", {})
    text = partial.get("errorMessage", "")
    assert "rejectedSpans" not in partial, text
    found = {kind: re.search(pattern, text) for kind, pattern in COUNTED.items()}
    return Counter({kind: int(match[1]) for kind, match in found.items() if match}), text


def spans_of(messages: Sequence[Message], session: str, random_: random.Random) -> list[Any]:
    """Return spans of calls, each of which repeats what was said before, with some answers left to the next one."""
    ends = [at + 1 for at, message in enumerate(messages) if message["role"] == "assistant" and random_.random() < 0.7]
    return [
        span_json(attributes_of_call(session, messages[: end - 1], messages[end - 1 : end]), span=number + 1)
        for number, end in enumerate([*ends, len(messages)])
    ]


def check_law(api: httpx.Client, seed: int) -> None:
    random_ = random.Random(seed)
    messages, wanted, _ = conversation(random_)
    if random_.random() < 0.3:
        messages.append({"role": "narrator", "content": "Night."})
        wanted[GUESSED] += 1
    request = traces_json(*spans_of(messages, f"s-{seed}", random_))
    counts, text = told(api.post("/v1/otlp/v1/traces", json=request))
    assert counts == wanted, f"seed {seed}: {text}"
    assert counts.total() == 0 or "span 00000000000000" in text, f"seed {seed}: {text}"


@pytest.mark.parametrize("seed", range(100))
def test_each_fault_of_a_reported_conversation_is_named__IN_20(api: httpx.Client, seed: int) -> None:
    check_law(api, seed)


@pytest.mark.parametrize("name", ["checked", "OpenCalls"])
def test_an_intake_that_is_silent_is_caught(name: str, api: httpx.Client, monkeypatch: pytest.MonkeyPatch) -> None:
    class Silent(unread.OpenCalls):
        def left(self) -> Any:
            return iter(())

    broken: Any = Silent if name == "OpenCalls" else lambda entry: entry
    monkeypatch.setattr(reported_notes, name, broken)
    caught = 0
    for seed in range(20):
        try:
            check_law(api, seed)
        except AssertionError:
            caught += 1
    assert caught


@pytest.mark.parametrize("shape", SHAPES)
def test_a_request_that_is_whole_is_answered_without_notes__IN_20(shape: str, api: httpx.Client) -> None:
    assert api.post("/v1/otlp/v1/traces", json=span_of(SHAPES[shape])).json() == {}


def test_a_request_has_the_notes_of_a_file_of_it__IN_20(api: httpx.Client, tmp_path: Path) -> None:
    for seed in range(10):
        random_ = random.Random(seed)
        request = traces_json(*spans_of(conversation(random_)[0], f"f-{seed}", random_))
        done = asyncio.run(taken_in(request, tmp_path / "request.json"))
        assert told(api.post("/v1/otlp/v1/traces", json=request))[0] == kinds(done), f"seed {seed}"


def test_a_result_that_a_trimmed_call_shows_answers_its_call__IN_20(api: httpx.Client) -> None:
    """Other calls of the request may have left messages out, or go on from an earlier one."""
    hi, call, gave = said("user", "Hi"), asked("c1", "find", order=1), returned("c1", "depot")
    whole = span_json(attributes_of_call("trim", [hi], [call]), span=1)
    trimmed = span_json(attributes_of_call("trim", [call, gave], [said("assistant", "There.")]), span=2)
    assert api.post("/v1/otlp/v1/traces", json=traces_json(whole, trimmed)).json() == {}
    counts, text = told(api.post("/v1/otlp/v1/traces", json=traces_json(whole)))
    assert counts == {NO_RESULT: 1}
    assert "c1 in span" in text


def test_many_notes_are_counted_and_the_first_are_named__IN_20(api: httpx.Client) -> None:
    before = [message for n in range(7) for message in (said("user", f"q {n}"), asked(f"c{n}", "look", n=n))]
    request = traces_json(span_json(attributes_of_call("many", before, [said("assistant", "Done.")]), span=1))
    counts, text = told(api.post("/v1/otlp/v1/traces", json=request))
    assert counts == {NO_RESULT: 7}
    assert "c4 in span" in text
    assert "c5 in span" not in text
    assert "and 2 more" in text


def test_log_records_have_the_same_notes__IN_20(api: httpx.Client) -> None:
    messages = json.dumps([{"role": "narrator", "content": "Night."}])
    attributes = {"gen_ai.operation.name": "chat", "gen_ai.input.messages": messages}
    record = {"eventName": "gen_ai.client.inference.operation.details", "traceId": "a" * 32, "spanId": "b" * 16}
    answer = api.post("/v1/otlp/v1/logs", json=logs_json({**record, "attributes": pairs_json(attributes)}))
    assert told(answer)[0] == {GUESSED: 1}
