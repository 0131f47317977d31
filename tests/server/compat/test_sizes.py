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
    """Trust N-5, W-3; what just fits is stored."""
    answer = api.put(f"/v1/working-memory/{session}", json=body)
    assert (answer.status_code, field in answer.text) == (422, True), answer.text[:300]
    assert api.get(f"/v1/working-memory/{session}").status_code == 404
    fits = {"messages": [{"role": "user", "content": "x" * 2**20}]}
    assert api.put(f"/v1/working-memory/{session}", json=fits).status_code == 200
