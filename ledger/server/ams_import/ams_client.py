"""Read a server of the working-memory API, which is not trusted: time and bytes are limited. Source: http §2."""

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final
from urllib.parse import quote, urlencode, urlsplit

import httpcore
import msgspec

from ledger.errors import InvalidInput, NotAllowed, Unavailable
from ledger.events import JsonObject
from ledger.events.strict_json import TRANSCRIPT, parse

#: For one answer, and for all of them.
TIMEOUT_S: Final = 15.0
DEADLINE_S: Final = 3_600.0
#: In all answers together.
MOST_BYTES: Final = 16 * 1024**3
PAGE: Final = 100  # the most items that such a server lists at once
MOST_PAGES: Final = 100_000


class AmsSource:
    """A server to read from; `open` creates and closes it."""

    def __init__(
        self,
        pool: httpcore.AsyncConnectionPool,
        url: str,
        token: str | None,
        *,
        timeout_s: float,
        deadline_s: float,
        most_bytes: int,
    ) -> None:
        self._pool = pool
        self._url = url.rstrip("/")
        self._timeout_s = timeout_s
        self._deadline_s = deadline_s
        self._ends = asyncio.get_running_loop().time() + deadline_s
        self._most_bytes = most_bytes
        self._received = 0
        self._headers = [("Accept", "application/json"), ("Accept-Encoding", "identity")]
        if token is not None:
            self._headers.append(("Authorization", f"Bearer {token}"))

    @classmethod
    @asynccontextmanager
    async def open(
        cls,
        url: str,
        *,
        token: str | None = None,
        timeout_s: float = TIMEOUT_S,
        deadline_s: float = DEADLINE_S,
        most_bytes: int = MOST_BYTES,
    ) -> "AsyncIterator[AmsSource]":
        """Open the server at *url*.

        Each answer must arrive whole within *timeout_s* seconds, all of them within *deadline_s* seconds, and together
        they may have *most_bytes*.

        Raises:
            InvalidInput: ``bad_url`` or ``bad_token``.
        """
        check_url(url)
        if token is not None and not (token.isascii() and token.isprintable() and token.strip()):
            raise InvalidInput("bad_token", "must be printable ASCII", field="--token")
        async with httpcore.AsyncConnectionPool() as pool:
            yield cls(pool, url, token, timeout_s=timeout_s, deadline_s=deadline_s, most_bytes=most_bytes)

    async def session_ids(self, *, namespace: str | None, user_id: str | None) -> list[str]:
        """Return the ids of its sessions; an id that two users have is listed twice.

        Raises:
            Unavailable: the server cannot be read.
            NotAllowed: the server needs another token.
        """
        found: list[str] = []
        before: list[str] | None = None
        for page in range(MOST_PAGES):
            names = {"namespace": namespace, "user_id": user_id, "limit": str(PAGE), "offset": str(page * PAGE)}
            listed = self._expected(*await self._ask("GET", "/v1/working-memory/", names))
            ids = listed.get("sessions")
            if not isinstance(ids, list) or not all(isinstance(name, str) for name in ids):
                raise self._bad_server("does not list sessions")
            if ids and ids == before:
                raise self._bad_server("lists the same sessions again")
            found.extend(ids)
            if len(ids) < PAGE:
                return found
            before = ids
        raise self._bad_server("lists sessions without end")

    async def session(self, session_id: str, *, namespace: str | None, user_id: str | None) -> dict[str, Any] | None:
        """Return a session in the shape of the server, or None if it is not found by these names.

        Raises:
            Unavailable: the server cannot be read.
            NotAllowed: the server needs another token.
        """
        names = {"namespace": namespace, "user_id": user_id}
        status, shown = await self._ask("GET", f"/v1/working-memory/{quote(session_id, safe='')}", names)
        if status == 404:
            return None
        found = self._expected(status, shown)
        return None if found.get("new_session") is True else found  # from releases without 404

    async def records(self, *, namespace: str | None, user_id: str | None) -> AsyncIterator[Sequence[dict[str, Any]]]:
        """Yield its long-term memory page by page; nothing if that is off.

        Raises:
            Unavailable: the server cannot be read.
            NotAllowed: the server needs another token.
        """
        filters = {
            name: {"eq": value} for name, value in (("namespace", namespace), ("user_id", user_id)) if value is not None
        }
        offset = 0
        before: object = None
        for _ in range(MOST_PAGES):
            search = {**filters, "limit": PAGE, "offset": offset, "recency_boost": False}
            status, answer = await self._ask("POST", "/v1/long-term-memory/search", {}, search)
            if status == 422:  # some releases require a text
                status, answer = await self._ask("POST", "/v1/long-term-memory/search", {}, {**search, "text": ""})
            if status in {400, 404, 501} and offset == 0:
                return  # long-term memory is off
            shown = self._expected(status, answer)
            page, following = shown.get("memories"), shown.get("next_offset")
            if not isinstance(page, list) or not all(isinstance(item, dict) for item in page):
                raise self._bad_server("does not list memories")
            if page and page == before:
                raise self._bad_server("lists the same memories again")
            before = page
            yield page
            if following is None or not page:
                return
            if type(following) is not int or following <= offset:
                raise self._bad_server("lists memories without end")
            offset = following
        raise self._bad_server("lists memories without end")

    async def _ask(
        self, method: str, path: str, names: Mapping[str, str | None], body: object = None
    ) -> tuple[int, object]:
        """Return status and content of an answer; the content is None if it is not JSON."""
        query = urlencode({name: value for name, value in names.items() if value is not None})
        content = None if body is None else msgspec.json.encode(body)
        headers: Any = self._headers if body is None else [*self._headers, ("Content-Type", "application/json")]
        left_s = self._ends - asyncio.get_running_loop().time()
        if left_s <= 0:
            raise self._takes_too_long()
        try:
            async with (
                asyncio.timeout(min(self._timeout_s, left_s)),
                self._pool.stream(
                    method, f"{self._url}{path}{'?' if query else ''}{query}", headers=headers, content=content
                ) as answer,
            ):
                received = bytearray()
                async for chunk in answer.aiter_stream():
                    received += chunk
                    self._received += len(chunk)
                    if len(received) > TRANSCRIPT.size:
                        raise self._bad_server(f"answers more than {TRANSCRIPT.size:,} bytes")
                    if self._received > self._most_bytes:
                        message = f"{self._url} sent more than {self._most_bytes:,} bytes; import one user at a time"
                        raise Unavailable(message)
        except (httpcore.NetworkError, httpcore.TimeoutException, httpcore.ProtocolError, OSError) as fault:
            if left_s <= self._timeout_s and isinstance(fault, TimeoutError):
                raise self._takes_too_long() from fault
            raise Unavailable(
                f"{self._url} cannot be read ({type(fault).__name__}); nothing is half imported"
            ) from fault
        if answer.status in {401, 403}:
            raise NotAllowed(f"{self._url} answers {answer.status}; pass a token with read access with --token")
        try:
            return answer.status, parse(bytes(received), TRANSCRIPT)
        except InvalidInput:
            return answer.status, None

    def _expected(self, status: int, content: object) -> dict[str, Any]:
        if status != 200:
            raise Unavailable(f"{self._url} answers {status}; run this again later")
        if not isinstance(content, dict):
            raise self._bad_server("does not answer with a JSON object")
        return content

    def _takes_too_long(self) -> Unavailable:
        return Unavailable(
            f"{self._url} did not send everything within {self._deadline_s:g} seconds; what was imported stays: "
            "run this again, with a longer --timeout"
        )

    def _bad_server(self, what: str) -> Unavailable:
        return Unavailable(f"{self._url} {what}: it is not a server of the working-memory API")


def check_url(url: str) -> None:
    """Refuse a *url* that is not the address of an HTTP server.

    Raises:
        InvalidInput: ``bad_url``.
    """
    try:
        parts = urlsplit(url)
        usable = parts.port != 0
    except ValueError:
        parts, usable = urlsplit(""), False
    plain = url.isascii() and url.isprintable() and " " not in url
    if parts.scheme not in {"http", "https"} or not parts.hostname or parts.username is not None or not usable:
        plain = False
    if not plain or parts.query or parts.fragment:
        raise InvalidInput(
            "bad_url", "must be an http or https URL without a user, for example http://localhost:8000", field="URL"
        )


def of_caller(item: JsonObject, namespace: str | None, user_id: str | None) -> JsonObject:
    """Return *item* with the names that the caller asked for, where it has none."""
    asked = {name: value for name, value in (("namespace", namespace), ("user_id", user_id)) if value is not None}
    return {**item, **{name: value for name, value in asked.items() if item.get(name) is None}}


def check_asked(item: JsonObject, namespace: str | None, user_id: str | None) -> None:
    """Refuse an *item* of another namespace or user than the caller asked for.

    Raises:
        InvalidInput: ``not_asked_for``.
    """
    for name, asked in (("namespace", namespace), ("user_id", user_id)):
        if asked is not None and item.get(name) != asked:
            message = "the server answered with that of another one than was asked for"
            raise InvalidInput("not_asked_for", message, field=name)
