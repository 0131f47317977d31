"""How our own routes are described in OpenAPI: every status that may come, and what comes with it (W-63)."""

from typing import Any, Final

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi
from pydantic import BaseModel, ConfigDict, Field

PROBLEM_TYPE: Final = "application/problem+json"

_MEANINGS: Final = {
    400: "It is no JSON, or a cursor is not one of ours.",
    401: "Nobody knows who calls.",
    403: "The caller may not do that.",
    404: "There is no such session, version or entry.",
    405: "The route has no such method.",
    408: "The request did not arrive in time.",
    409: "The session is not in the state that the request is for.",
    412: "The session is not at the version that `If-Match` names.",
    413: "The body is too large.",
    414: "Path and query are too long.",
    415: "The body is of another type.",
    422: "Something in the request breaks a rule; `field` says what.",
    429: "The caller asks too often.",
    431: "The headers are too large.",
    503: "The database is away, or the service has too much to do.",
    507: "The database has no space left.",
}
_READING: Final = (400, 401, 403, 404, 405, 408, 413, 414, 422, 429, 431, 503)
_WRITING: Final = (*_READING, 409, 412, 415, 507)


class Problem(BaseModel):
    """What went wrong (RFC 9457). What was refused is not repeated."""

    model_config = ConfigDict(
        extra="allow",
        json_schema_extra={
            "examples": [
                {
                    "type": "about:blank",
                    "title": "Conflict",
                    "status": 409,
                    "detail": "stream is at 7, expected 5; read and decide again",
                    "code": "version_conflict",
                    "current_version": 7,
                }
            ]
        },
    )

    type: str
    title: str
    status: int
    detail: str
    code: str = Field(description="Stable; made for programs.")
    field: str | None = None
    limit: int | None = None
    current_version: int | None = None


def problems(*statuses: int, writes: bool = False) -> dict[int | str, dict[str, Any]]:
    """Return the ``responses`` of a route: what any may answer, what one that *writes* may, and *statuses*."""
    schema = {"$ref": f"#/components/schemas/{Problem.__name__}"}
    every = sorted({*(_WRITING if writes else _READING), *statuses})
    return {
        status: {"description": _MEANINGS[status], "content": {PROBLEM_TYPE: {"schema": schema}}} for status in every
    }


READS: Final = problems()
ASKS: Final = problems(409, 415)
WRITES: Final = problems(writes=True)


def described(app: FastAPI) -> dict[str, Any]:
    """Return the OpenAPI document of *app*, with the form of its problems."""
    if app.openapi_schema is None:
        document = get_openapi(
            title=app.title, version=app.version, summary=app.summary, description=app.description, routes=app.routes
        )
        schemas = document.setdefault("components", {}).setdefault("schemas", {})
        schemas[Problem.__name__] = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
        app.openapi_schema = document
    return app.openapi_schema
