"""Answers of the routes, asked for in this process."""

from typing import Any
from urllib.parse import quote, unquote, urlencode

import msgspec
from fastapi import FastAPI
from starlette.types import Message

from ledger.errors import InvalidInput, NotFound, Unavailable
from ledger.server.access.callers import Caller


class RouteAnswers:
    """Asks the routes of *app* about one session, as *caller*."""

    def __init__(self, app: FastAPI, caller: Caller, *, namespace: str, session_id: str, user_id: str | None) -> None:
        self._app = app
        self._caller = caller
        self._session = f"/v1/sessions/{quote(session_id, safe='')}"
        self._names = {"namespace": namespace} | ({} if user_id is None else {"user_id": user_id})

    async def get(self, path: str, **query: object) -> Any:
        """Return the answer at *path* below the session; parameters that are None are left out.

        Raises:
            NotFound, InvalidInput, Unavailable: the route refused.
        """
        return await self._ask("GET", self._session + path, {**self._names, **query}, b"")

    async def post(self, path: str, body: object) -> Any:
        """Return the answer to *body* at *path* below the session; see `get`."""
        return await self._ask("POST", self._session + path, self._names, msgspec.json.encode(body))

    async def of_service(self, path: str, **query: object) -> Any:
        """Return the answer at *path*, which is not about the session; see `get`."""
        return await self._ask("GET", path, query, b"")

    async def _ask(self, method: str, path: str, query: dict[str, Any], body: bytes) -> Any:
        asked = {name: str(value).lower() if value is True else value for name, value in query.items()}
        scope = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(path),
            "raw_path": path.encode(),
            "query_string": urlencode({name: value for name, value in asked.items() if value is not None}).encode(),
            "root_path": "",
            "headers": [(b"content-type", b"application/json")] if body else [],
            "client": None,
            "server": ("127.0.0.1", 0),
            "state": {"caller": self._caller},
        }
        status, parts = 0, []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            nonlocal status
            status = message.get("status", status)
            parts.append(message.get("body", b""))

        await self._app(scope, receive, send)
        answer = msgspec.json.decode(b"".join(parts))
        if status >= 400:
            raise _refusal(status, answer)
        return answer


def _refusal(status: int, problem: dict[str, Any]) -> Exception:
    text = str(problem.get("detail", "the route refused"))
    if status == 404:
        return NotFound(text)
    return Unavailable(text) if status >= 500 or status == 429 else InvalidInput(str(problem.get("code", "")), text)
