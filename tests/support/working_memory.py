"""Requests and answers of the working-memory API."""

from typing import Any

import httpx

#: The keys of a session in an answer.
KEYS = {
    "messages",
    "memories",
    "data",
    "context",
    "user_id",
    "tokens",
    "session_id",
    "namespace",
    "long_term_memory_strategy",
    "ttl_seconds",
    "last_accessed",
    "created_at",
    "updated_at",
    "context_percentage_total_used",
    "context_percentage_until_summarization",
}


def a_message(content: str, role: str = "user", **fields: Any) -> dict[str, Any]:
    """Return a message as clients send it."""
    return {"role": role, "content": content, "created_at": "2026-01-01T00:00:00Z", **fields}


def put(api: httpx.Client, session: str, **body: Any) -> httpx.Response:
    """Send a PUT of working memory."""
    return api.put(f"/v1/working-memory/{session}", json=body)


def texts(answer: httpx.Response | dict[str, Any]) -> list[str]:
    """Return the texts of the messages in an answer."""
    body = answer.json() if isinstance(answer, httpx.Response) else answer
    return [message["content"] for message in body["messages"]]
