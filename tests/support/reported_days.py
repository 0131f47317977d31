"""The conversation that tests of OTLP report, and how they send it and read what became of it."""

from typing import Any

import httpx

from tests.support.model_spans import asked, returned, said, traces_json

HI, HELLO = said("user", "Hi"), said("assistant", "Hello, what is it?")
WHERE, CALL, GAVE = said("user", "Where is 8812?"), asked("c1", "find", order=8812), returned("c1", {"at": "depot"})
ANSWER = said("assistant", "In the depot.")
TRACES = "/v1/otlp/v1/traces"

DAY = [
    ([HI], [HELLO]),
    ([HI, HELLO, WHERE], [CALL]),
    ([HI, HELLO, WHERE, CALL, GAVE], [ANSWER]),
]
WHOLE = [
    ("user", "Hi"),
    ("assistant", "Hello, what is it?"),
    ("user", "Where is 8812?"),
    ("tool_call", 'find({"order":8812})'),
    ("tool_result", '{"at":"depot"}'),
    ("assistant", "In the depot."),
]


def send(api: httpx.Client, *spans: dict[str, Any]) -> httpx.Response:
    """Send a request with *spans*, which must be accepted."""
    answer = api.post(TRACES, json=traces_json(*spans))
    assert answer.status_code == 200, answer.text
    return answer


def rejected(answer: httpx.Response) -> int:
    """Return how many records an *answer* says were not stored."""
    partial = answer.json().get("partialSuccess", {})
    return int(partial.get("rejectedSpans", 0))
