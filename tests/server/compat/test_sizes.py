"""The limits of all doors hold for the working-memory API too. Source: http W-3, trust N-5."""

from typing import Any

import httpx
import pytest

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"messages": [{"role": "user", "content": "\u00e9" * 600_000}]}, "messages.0.content"),
        ({"memories": [{"id": "f", "text": "x" * (2**20 + 1)}]}, "memories.0.text"),
        ({"memories": [{"id": "f", "text": "x", "metadata": {"a": "x" * 20_000}}]}, "memories.0.metadata"),
        ({"data": {"a": "x" * (8 * 2**20 - 40)}}, "data"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_what_is_too_large_for_an_event_is_refused(
    api: httpx.Client, session: str, body: dict[str, Any], field: str
) -> None:
    """Trust N-5, http W-3; what just fits is stored."""
    answer = api.put(f"/v1/working-memory/{session}", json=body)
    assert (answer.status_code, field in answer.text) == (422, True), answer.text[:300]
    assert api.get(f"/v1/working-memory/{session}").status_code == 404
    fits = {"messages": [{"role": "user", "content": "x" * 2**20}]}
    assert api.put(f"/v1/working-memory/{session}", json=fits).status_code == 200


@pytest.mark.parametrize(
    ("fields", "field"),
    [
        ({"id": "i" * 300}, "id"),
        ({"session_id": "s" * 600}, "session_id"),
        ({"user_id": "u" * 600}, "user_id"),
        ({"user_id": "a/b"}, "user_id"),
        ({"user_id": "x\u001fy"}, "user_id"),
        ({"namespace": "a/b"}, "namespace"),
        ({"topics": ["t" * 600]}, "topics"),
        ({"entities": ["e"] * 1_001}, "entities"),
        ({"extracted_from": ["m" * 600]}, "extracted_from"),
        ({"extraction_strategy": "e" * 600}, "extraction_strategy"),
        ({"extraction_strategy_config": {"a": "x" * 20_000}}, "extraction_strategy_config"),
    ],
)
def test_a_memory_has_the_limits_of_a_record(
    api: httpx.Client, session: str, fields: dict[str, Any], field: str
) -> None:
    """What a session holds is promoted, and a record that cannot be kept would stand in the way of all.

    Source: http W-3, trust N-3.
    """
    answer = api.put(f"/v1/working-memory/{session}", json={"memories": [{"id": "m", "text": "x", **fields}]})
    assert answer.status_code == 422, answer.text[:300]
    assert f"memories.0.{field}" in answer.text
    assert api.get(f"/v1/working-memory/{session}").status_code == 404


def test_a_strategy_that_would_be_copied_into_each_record_is_bounded(api: httpx.Client, session: str) -> None:
    strategy = {"strategy": "custom", "config": {"custom_prompt": "x" * 20_000}}
    answer = api.put(f"/v1/working-memory/{session}", json={"long_term_memory_strategy": strategy})
    assert (answer.status_code, "long_term_memory_strategy.config" in answer.text) == (422, True), answer.text[:300]
    strategy["config"] = {"custom_prompt": "x" * 10_000}
    assert api.put(f"/v1/working-memory/{session}", json={"long_term_memory_strategy": strategy}).status_code == 200


@pytest.mark.parametrize("window", [2**53 + 1, 2**63, 10**18])
def test_a_window_that_no_config_may_have_is_refused_and_harms_no_session(
    api: httpx.Client, session: str, window: int
) -> None:
    """http W-39: in a config it would be an event that nobody can read again."""
    texts = {"messages": [{"role": "user", "content": "hello"}]}
    assert api.put(f"/v1/working-memory/{session}", json=texts).status_code == 200
    too_large = {"context_window_max": window}
    assert api.put(f"/v1/working-memory/{session}", json=texts, params=too_large).status_code == 422
    assert api.get(f"/v1/working-memory/{session}", params=too_large).status_code == 422
    prompt = {"query": "q", "session": {"session_id": session, **too_large}}
    assert api.post("/v1/memory/prompt", json=prompt).status_code == 422
    assert api.get(f"/v1/working-memory/{session}").status_code == 200
