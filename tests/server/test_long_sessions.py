"""A session's length does not show in what a client waits for. Source: http W-73, B10."""

import statistics
import time
from collections.abc import Callable

import httpx
import pytest

from ledger.server.compat import compat_answers
from ledger.server.compat.compat_answers import View
from ledger.session.state import SessionState
from tests.server.conftest import Running
from tests.support.http_client import shown_version

pytestmark = [pytest.mark.postgres, pytest.mark.slow]

ROUNDS = 5
EACH = 12  # few enough that the session of 10 stays short


def filled(api: httpx.Client, lengths: tuple[int, ...]) -> None:
    """Make a session of each length, all of it active."""
    for length in lengths:
        path = f"/v1/sessions/s{length}"
        texts = [{"role": "user", "content": f"message {number} of a long talk"} for number in range(length)]
        assert api.post(f"{path}/entries", json={"entries": texts[:1]}).status_code == 201
        assert api.put(f"{path}/config", json={"config": {"profile": "none"}}).status_code == 200
        for first in range(1, length, 1_000):
            answer = api.post(f"{path}/entries", json={"entries": texts[first : first + 1_000]})
            assert answer.status_code == 201, answer.text


def ratios(api: httpx.Client, ask: Callable[[int], httpx.Response], short: int, long: int) -> float:
    """Return the median over rounds of the long session's median latency divided by the short one's."""
    found = []
    for _ in range(ROUNDS):
        took: dict[int, list[float]] = {short: [], long: []}
        for turn in range(EACH):
            for length in sorted(took, reverse=bool(turn % 2)):
                began = time.perf_counter()
                answer = ask(length)
                took[length].append(time.perf_counter() - began)
                assert answer.is_success, answer.text
        found.append(statistics.median(took[long]) / statistics.median(took[short]))
    return statistics.median(found)


def appending(api: httpx.Client) -> Callable[[int], httpx.Response]:
    body = {"entries": [{"role": "user", "content": "one more"}]}
    return lambda length: api.post(f"/v1/sessions/s{length}/entries", json=body)


def reading(api: httpx.Client, **view: int) -> Callable[[int], httpx.Response]:
    return lambda length: api.get(f"/v1/working-memory/s{length}", params=view)


def test_appends_and_bounded_reads_are_as_quick_at_5_000_messages_as_at_10(api: httpx.Client) -> None:
    filled(api, (10, 5_000))
    figures = {
        "append": ratios(api, appending(api), 10, 5_000),
        "newest": ratios(api, reading(api, recent_messages_limit=5), 10, 5_000),
        "window": ratios(api, reading(api, context_window_max=200), 10, 5_000),
    }
    print(figures)
    assert {name: figure for name, figure in figures.items() if figure > 1.3} == {}


def test_an_append_to_10_000_messages_is_as_quick_as_to_100__B10(api: httpx.Client) -> None:
    filled(api, (100, 10_000))
    assert ratios(api, appending(api), 100, 10_000) <= 1.5


def test_a_put_of_10_000_known_messages_and_a_new_one_writes_one_event__B10(api: httpx.Client, session: str) -> None:
    path = f"/v1/working-memory/{session}"
    texts = [f"text {number}" for number in range(9_999)]
    messages = [{"role": "user", "content": text, "id": f"m{number}"} for number, text in enumerate(texts)]
    assert api.put(path, json={}).status_code == 200
    assert api.put(f"/v1/sessions/{session}/config", json={"config": {"profile": "none"}}).status_code == 200
    first = api.put(path, json={"messages": messages}, timeout=120)
    assert first.status_code == 200, first.text[:300]
    new = {"role": "user", "content": "new", "id": "n"}
    second = api.put(path, json={"messages": [*messages, new]}, timeout=120)
    assert shown_version(second) == shown_version(first) + 1


def test_a_view_that_reads_every_message_is_caught(
    api: httpx.Client, service: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: the whole list sorted, as it is in words."""
    view_of = compat_answers.view_of

    def slow(state: SessionState, *how: object, **more: object) -> View:
        for _ in range(3):
            sorted(state.window.entries, key=lambda entry: (entry.created_at, entry.version))
        return view_of(state, *how, **more)  # type: ignore[arg-type]

    monkeypatch.setattr(compat_answers, "view_of", slow)
    filled(api, (10, 5_000))
    assert ratios(api, reading(api, recent_messages_limit=5), 10, 5_000) > 1.3
