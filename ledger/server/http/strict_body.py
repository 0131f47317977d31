"""Request bodies and parameters, parsed by the one strict parser (trust N-11)."""

import re
from collections.abc import Mapping
from email.message import Message
from typing import Annotated, Final, TypeAlias

from fastapi import Query, Request
from pydantic import BaseModel, BeforeValidator, ConfigDict
from starlette.requests import ClientDisconnect

from ledger.errors import InvalidInput
from ledger.events.strict_json import INT_MAX, JsonLimits, parse
from ledger.server.http.route_arguments import NOT_SENT, QueryPairs

_DECIMAL: Final = re.compile(r"-?[0-9]{1,20}")


class StrictBody(BaseModel):
    """A body of the native API: no unknown field, no value of another type (http W-3, trust I-29, I-30)."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class LenientBody(BaseModel):
    """A body of the working-memory API: unknown fields are ignored, numbers may be text (http W-3, trust N-12)."""

    model_config = ConfigDict(extra="ignore", frozen=True)


def media_type_of(request: Request) -> str:
    """Return the content type of *request* without parameters, in lower case; empty if there is none.

    Raises:
        InvalidInput: ``unsupported_encoding``, if its charset is not UTF-8.
    """
    sent = _header(request, b"content-type")
    if sent in {"", "application/json"}:
        return sent
    message = Message()
    message["content-type"] = sent
    charset = message.get_param("charset", "utf-8")
    if not isinstance(charset, str) or charset.lower() not in {"utf-8", "utf8"}:
        raise InvalidInput("unsupported_encoding", "send UTF-8", field="content-type")
    return message.get_content_type()


async def read_body(request: Request, *, media_types: frozenset[str]) -> bytes:
    """Return the body of *request*, which must be of one of *media_types* and not compressed.

    Raises:
        InvalidInput: ``unsupported_media_type`` or ``unsupported_encoding`` (trust I-25, I-28).
    """
    if _header(request, b"content-encoding", "identity").strip().lower() != "identity":
        raise InvalidInput("unsupported_encoding", "send the body uncompressed", field="content-encoding")
    body = await raw_body(request)
    if body and media_type_of(request) not in media_types:
        wanted = " or ".join(sorted(media_types))
        raise InvalidInput("unsupported_media_type", f"send {wanted}", field="content-type")
    return body


def _header(request: Request, name: bytes, otherwise: str = "") -> str:
    """Return the first header with *name*; `Request.headers` takes longer."""
    for each, value in request.scope["headers"]:
        if each == name:
            return str(value, "latin-1")
    return otherwise


async def raw_body(request: Request) -> bytes:
    """Return the body as it was sent; without the buffers of `Request.body`, which most requests do not need."""
    parts = []
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect
        parts.append(message.get("body", b""))
        if not message.get("more_body", False):
            return parts[0] if len(parts) == 1 else b"".join(parts)


async def parse_body(request: Request, limits: JsonLimits, media_types: frozenset[str]) -> object:
    """Return the value of a JSON body, or `NOT_SENT`.

    Raises:
        InvalidInput: it is not JSON, or over a limit.
    """
    body = await read_body(request, media_types=media_types)
    return parse(body, limits) if body else NOT_SENT


def check_parameters(query: QueryPairs, known: Mapping[str, bool]) -> None:
    """Refuse query parameters that are not *known*, or that are sent twice (trust I-41, http W-3).

    *known* says of each name whether it may come more than once.

    Raises:
        InvalidInput: ``unknown_field``, or ``bad_<name>``.
    """
    seen: set[str] = set()
    for name, _ in query:
        if name not in known:
            raise InvalidInput(
                "unknown_field", f"this route takes {', '.join(sorted(known)) or 'no parameters'}", field="query"
            )
        if name in seen and not known[name]:
            raise InvalidInput(f"bad_{name}", "must be sent only once", field=name)
        seen.add(name)


def whole_number(name: str, *, least: int, most: int = INT_MAX) -> BeforeValidator:
    """Return a check that a parameter has only digits and is within bounds (trust I-41)."""

    def check(value: object) -> object:
        if isinstance(value, str):
            if not _DECIMAL.fullmatch(value):
                raise InvalidInput(f"bad_{name}", "must be a whole number", field=name)
            value = int(value)
        if isinstance(value, int) and not least <= value <= most:
            at_least = most == INT_MAX and value < least
            bounds = f"must be at least {least:,}" if at_least else f"must be between {least:,} and {most:,}"
            raise InvalidInput(f"bad_{name}", bounds, field=name, limit=most)
        return value

    return BeforeValidator(check)


#: The parameters of lists (http W-64).
PageLimit: TypeAlias = Annotated[int, whole_number("limit", least=1, most=1_000), Query()]
AfterVersion: TypeAlias = Annotated[int, whole_number("after_version", least=0), Query()]
