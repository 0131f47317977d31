"""From our errors to answers: the only place that knows status codes.

Two forms: problem+json of RFC 9457 for our own routes, ``{"detail": …}`` for those of the working-memory API.
Neither repeats a refused value, nor what a database said (trust N-13, P-16). Source: http W-4, W-5, W-63.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from ledger import errors
from ledger.errors import InvalidInput, LedgerError

Dialect: TypeAlias = Literal["native", "compat"]

#: The nearest class above an error decides.
STATUS: Final[dict[type[LedgerError], int]] = {
    errors.LedgerError: 500,
    errors.InvalidInput: 422,
    errors.NotAllowed: 503,  # of the database login: the caller did nothing wrong
    errors.NotAuthenticated: 401,
    errors.NotPermitted: 403,
    errors.NotFound: 404,
    errors.Conflict: 409,
    errors.PreconditionFailed: 412,
    errors.Unavailable: 503,
    errors.RateLimited: 429,
    errors.StorageFull: 507,
    errors.LogCorrupted: 500,
}

#: Refused input that is not 422.
STATUS_OF_CODE: Final[dict[str, int]] = {
    "invalid_json": 400,
    "invalid_encoding": 400,
    "bad_request": 400,
    "bad_host": 400,
    "bad_cursor": 400,
    "body_not_allowed": 400,
    "timeout": 408,
    "too_large": 413,
    "path_too_long": 414,
    "unsupported_media_type": 415,
    "unsupported_encoding": 415,
    "headers_too_large": 431,
    "not_implemented": 501,
    # what the working-memory API answers with 400 (http W-16, W-23, W-27, W-31, W-35, W-36)
    "blank_message": 400,
    "nothing_asked": 400,
    "no_fields": 400,
    "distance_threshold_unsupported": 400,
    "long_term_memory_disabled": 400,
    "bad_view": 400,
}

#: Every status that a fault may have.
TITLES: Final = {
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    405: "Method Not Allowed",
    408: "Request Timeout",
    409: "Conflict",
    412: "Precondition Failed",
    413: "Content Too Large",
    414: "URI Too Long",
    415: "Unsupported Media Type",
    422: "Unprocessable Content",
    429: "Too Many Requests",
    431: "Request Header Fields Too Large",
    500: "Internal Server Error",
    501: "Not Implemented",
    503: "Service Unavailable",
    507: "Insufficient Storage",
}

#: What our messages say to who calls the library, said to who calls the service: without the name that was sent, so
#: that a foreign thing and one that never was are told alike (trust N-13, I-81), and without commands.
_SAID: Final[dict[type, str]] = {
    errors.SessionNotFound: "there is no such session",
    errors.EntryNotFound: "the session has no such entry",
    errors.RecordNotFound: "there is no such record",
    errors.DuplicateEntry: "the entry id is taken by other content; choose a new id, or edit that entry",
    errors.SessionExists: "a session of that name already holds other events; choose another name",
    errors.CompactionInProgress: "such a compaction of this session is running; try again when it is done",
    errors.MigrationNeeded: "the database has not the schema of this release; /readyz says more",
}

#: Answers after which nothing more can be read from the connection.
_CLOSING: Final = frozenset({"too_large", "timeout", "bad_request", "headers_too_large", "path_too_long"})

#: Pydantic's words for what is wrong, in ours (trust I-29, I-30).
_CODES: Final = {
    "extra_forbidden": "unknown_field",
    "missing": "missing_field",
    "string_too_long": "too_long",
    "string_too_short": "too_short",
    "too_long": "too_long",
    "too_short": "too_short",
    "greater_than": "out_of_bounds",
    "greater_than_equal": "out_of_bounds",
    "less_than": "out_of_bounds",
    "less_than_equal": "out_of_bounds",
    "literal_error": "bad_value",
    "enum": "bad_value",
}

#: Paths whose faults outside of any route are told in the form of the working-memory API.
_COMPAT_PATHS: Final = (
    "/v1/health",
    "/v1/working-memory",
    "/v1/long-term-memory",
    "/v1/memory/",
    "/v1/summary-views",
    "/v1/tasks",
)


def status_of(fault: LedgerError, dialect: Dialect = "native") -> int:
    """Return the status of an answer to *fault*; malformed input is 422 on routes of the working-memory API.

    Source: http W-3.
    """
    if dialect == "compat" and fault.code in {"invalid_json", "invalid_encoding"}:
        return 422
    if isinstance(fault, InvalidInput) and fault.code in STATUS_OF_CODE:
        return STATUS_OF_CODE[fault.code]
    return next(STATUS[kind] for kind in type(fault).__mro__ if kind in STATUS)


def dialect_of(path: str) -> Dialect:
    """Return how faults of a request that met no route are told."""
    return "compat" if path.startswith(_COMPAT_PATHS) else "native"


def answer(fault: LedgerError, dialect: Dialect) -> Response:
    """Return the answer to *fault*."""
    status = status_of(fault, dialect)
    text = _detail_of(fault, status)
    if dialect == "native":
        content: dict[str, Any] = {
            "type": "about:blank",
            "title": TITLES[status],
            "status": status,
            "detail": text,
            "code": fault.code,
            **_particulars(fault),
        }
        return _response(status, content, "application/problem+json", _headers(fault, status))
    detail: object = text
    if status == 422:
        parts = fault.field.split(".") if isinstance(fault, InvalidInput) and fault.field else []
        place = [int(part) if part.isdecimal() else part for part in parts]
        detail = [{"type": fault.code, "loc": ["body", *place], "msg": text}]
    return _response(status, {"detail": detail}, "application/json", _headers(fault, status))


def _detail_of(fault: LedgerError, status: int) -> str:
    """Return what is said of *fault*: no name that was asked for, and of a fault of ours no more than its status."""
    if status >= 500 and not isinstance(fault, errors.Unavailable):
        return TITLES[status]
    return next((_SAID[kind] for kind in type(fault).__mro__ if kind in _SAID), str(fault))


def refusal(refused: RequestValidationError, dialect: Dialect) -> Response:
    """Return the answer to a request that has not the shape of its route; what was sent is not in it."""
    faults = refused.errors()
    if dialect == "compat":
        detail = [
            {"type": str(fault["type"]), "loc": list(fault["loc"]), "msg": str(fault["msg"])} for fault in faults[:100]
        ]
        return _response(422, {"detail": detail}, "application/json", {})
    first = faults[0]
    return answer(InvalidInput(_code(first), _fault_text(first), field=_place(first["loc"])), dialect)


def plain(status: int, dialect: Dialect, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer that says no more than its status, such as 404 where no route is (http W-2)."""
    title = TITLES.get(status, "Error")
    if dialect == "compat":
        return _response(status, {"detail": title}, "application/json", headers or {})
    code = title.lower().replace(" ", "_")
    content = {"type": "about:blank", "title": title, "status": status, "detail": title, "code": code}
    return _response(status, content, "application/problem+json", headers or {})


def _particulars(fault: LedgerError) -> dict[str, object]:
    match fault:
        case InvalidInput(field=field, limit=limit):
            known: dict[str, object] = {"field": field or None, "limit": limit}
        case errors.VersionConflict(current=current):
            known = {"current_version": current}
        case _:
            known = {}
    return {name: value for name, value in known.items() if value is not None}


def _headers(fault: LedgerError, status: int) -> dict[str, str]:
    match fault:
        case errors.NotAuthenticated():
            return {"www-authenticate": 'Bearer realm="memory-ledger"'}
        case errors.RateLimited(wait_s=wait_s):
            return {"retry-after": str(max(1, math.ceil(wait_s)))}
        case errors.Unavailable(retry_after_s=retry_after_s) if status == 503:
            return {"retry-after": str(retry_after_s)}
        case InvalidInput(code=code) if code in _CLOSING:
            return {"connection": "close"}
        case _:
            return {"retry-after": "1"} if status == 503 else {}


def _code(fault: Mapping[str, Any]) -> str:
    kind = str(fault["type"])
    if kind in _CODES:
        return _CODES[kind]
    return "wrong_type" if kind.endswith(("_type", "_parsing", "_from_float")) else "bad_value"


def _fault_text(fault: Mapping[str, Any]) -> str:
    """Return pydantic's message, but not of a value error, which may hold what a client sent."""
    return "is not a value of this field" if fault["type"] == "value_error" else str(fault["msg"])


def _place(loc: Sequence[object]) -> str:
    """Return where a fault is; an unknown field's name is the client's own, so it is cut."""
    parts = loc[1:] if loc and loc[0] in {"body", "query", "path", "header"} else loc
    return ".".join(str(part)[:80] for part in parts)[:200]


def _response(status: int, content: object, media_type: str, headers: Mapping[str, str]) -> Response:
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status_code=status, media_type=media_type, headers=dict(headers))
