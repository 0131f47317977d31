"""Answers to errors: the only place that knows status codes.

The native API answers with problem+json of RFC 9457, the working-memory API with ``{"detail": …}``. Neither repeats
a refused value or a message of the database (trust N-13, P-16). Source: http W-4, W-5, W-63.
"""

import json
import math
from collections.abc import Mapping, Sequence
from typing import Any, Final, Literal, TypeAlias

from fastapi.exceptions import RequestValidationError
from starlette.responses import Response

from ledger import errors
from ledger.errors import InvalidInput, LedgerError
from ledger.events.field_messages import refused_value

Dialect: TypeAlias = Literal["native", "compat"]

#: The nearest superclass of an error decides.
STATUS: Final[dict[type[LedgerError], int]] = {
    errors.LedgerError: 500,
    errors.InvalidInput: 422,
    errors.NotAllowed: 503,  # the database login lacks a privilege: the caller did nothing wrong
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

#: The codes of `InvalidInput` with a status other than 422.
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

#: The title of each status of an error.
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

#: The messages of errors whose own message is for callers of the library. These do not repeat the name that was sent,
#: so that another caller's item and a missing one get the same answer (trust N-13, I-81). They name no commands and
#: repeat nothing that the database said.
_DETAILS: Final[dict[type, str]] = {
    errors.SessionNotFound: "the session does not exist",
    errors.EntryNotFound: "the session does not have this entry",
    errors.RecordNotFound: "the record does not exist",
    errors.DuplicateEntry: "the entry id belongs to other content; choose a new id, or edit that entry",
    errors.EntryCovered: "a summary stands for this entry; add an entry that corrects it",
    errors.SessionExists: "a session with this name already has other events; choose another name",
    errors.CompactionInProgress: "this compaction of the session is already running; try again when it is done",
    errors.DatabaseUnavailable: "the database does not answer; try again",
    errors.UnsafeDatabase: "the service may not use its database; see its log",
    errors.UnsafeRole: "the service may not use its database; see its log",
    errors.ReadOnlyDatabase: "the database is read-only for now; nothing was written",
    errors.MigrationNeeded: "the database does not have the schema of this release; see /readyz",
}

#: What the native API says of requests without a route.
_WITHOUT_ROUTE: Final = {
    404: "no route has this path; /openapi.json lists the routes, if the service has it",
    405: "the path does not take this method; the header Allow lists those that it takes",
}

#: The codes after which the connection cannot be used any more.
_CLOSING: Final = frozenset({"too_large", "timeout", "bad_request", "headers_too_large", "path_too_long"})

#: Our codes for the error types of pydantic (trust I-29, I-30).
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

#: The paths of the working-memory API: without a route, too, errors there have its form.
_COMPAT_PATHS: Final = (
    "/v1/health",
    "/v1/working-memory",
    "/v1/long-term-memory",
    "/v1/memory/",
    "/v1/summary-views",
    "/v1/tasks",
)


def status_of(fault: LedgerError, dialect: Dialect = "native") -> int:
    """Return the status of *fault*; malformed JSON is 422 in the working-memory API.

    Source: http W-3.
    """
    if dialect == "compat" and fault.code in {"invalid_json", "invalid_encoding"}:
        return 422
    if isinstance(fault, InvalidInput) and fault.code in STATUS_OF_CODE:
        return STATUS_OF_CODE[fault.code]
    return next(STATUS[kind] for kind in type(fault).__mro__ if kind in STATUS)


def dialect_of(path: str) -> Dialect:
    """Return the form of errors at *path*, for requests without a route."""
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
            **_extensions(fault),
        }
        return _response(status, content, "application/problem+json", _headers(fault, status))
    detail: object = text
    if status == 422:
        parts = fault.field.split(".") if isinstance(fault, InvalidInput) and fault.field else []
        place = [int(part) if part.isdecimal() else part for part in parts]
        missing = fault.code == "missing_field"  # clients of the working-memory API know it by these words
        kind, text = ("missing", "Field required") if missing else (fault.code, text)
        detail = [{"type": kind, "loc": ["body", *place], "msg": text}]
    return _response(status, {"detail": detail}, "application/json", _headers(fault, status))


def _detail_of(fault: LedgerError, status: int) -> str:
    """Return the message of *fault*: without a requested name; for an internal error only the title of its status."""
    if status >= 500 and not isinstance(fault, errors.Unavailable):
        return TITLES[status]
    return next((_DETAILS[kind] for kind in type(fault).__mro__ if kind in _DETAILS), str(fault))


def refusal(refused: RequestValidationError, dialect: Dialect) -> Response:
    """Return the answer to a request of the wrong shape, without the values that were sent."""
    faults = refused.errors()
    if dialect == "compat":
        detail = [
            {"type": str(fault["type"]), "loc": list(fault["loc"]), "msg": str(fault["msg"])} for fault in faults[:100]
        ]
        return _response(422, {"detail": detail}, "application/json", {})
    first = faults[0]
    return answer(InvalidInput(_code(first), _fault_text(first), field=_place(first["loc"])), dialect)


def status_only(status: int, dialect: Dialect, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer with no more than its status, such as 404 for a path without a route (http W-2)."""
    title = TITLES.get(status, "Error")
    if dialect == "compat":
        return _response(status, {"detail": title}, "application/json", headers or {})
    code = title.lower().replace(" ", "_")
    detail = _WITHOUT_ROUTE.get(status, title)
    content = {"type": "about:blank", "title": title, "status": status, "detail": detail, "code": code}
    return _response(status, content, "application/problem+json", headers or {})


def _extensions(fault: LedgerError) -> dict[str, object]:
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
    """Return what is wrong; not the message of a value error, which may hold what a client sent."""
    return "must be a valid value" if fault["type"] == "value_error" else refused_value(fault)


def _place(loc: Sequence[object]) -> str:
    """Return the path of a field; its parts are cut short, because the client chooses unknown names."""
    parts = loc[1:] if loc and loc[0] in {"body", "query", "path", "header"} else loc
    return ".".join(str(part)[:80] for part in parts)[:200]


def _response(status: int, content: object, media_type: str, headers: Mapping[str, str]) -> Response:
    body = json.dumps(content, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")
    return Response(body, status_code=status, media_type=media_type, headers=dict(headers))
