"""The error answers of every route, for the OpenAPI document."""

from collections.abc import Mapping
from typing import Any, Final, TypeAlias

from ledger.server.http import problems

OpenApiResponses: TypeAlias = dict[int | str, dict[str, Any]]

_PROBLEM: Final = {
    "type": "object",
    "required": ["type", "title", "status", "detail", "code"],
    "properties": {
        "type": {"type": "string"},
        "title": {"type": "string"},
        "status": {"type": "integer"},
        "detail": {"type": "string", "description": "What to do."},
        "code": {"type": "string", "description": "Stable; use it in programs."},
        "field": {"type": "string", "description": "The field that was refused."},
        "limit": {"type": "integer", "description": "The limit that was passed."},
        "current_version": {"type": "integer", "description": "The version of the session now."},
    },
}
_DETAIL: Final = {"type": "object", "required": ["detail"], "properties": {"detail": {"type": "string"}}}
_FAULTS: Final = {
    "type": "object",
    "required": ["detail"],
    "properties": {
        "detail": {
            "type": "array",
            "items": {
                "type": "object",
                "required": ["type", "loc", "msg"],
                "properties": {
                    "type": {"type": "string"},
                    "loc": {"type": "array", "items": {"anyOf": [{"type": "string"}, {"type": "integer"}]}},
                    "msg": {"type": "string"},
                },
            },
        }
    },
}


def _answers(forms: Mapping[int, object], form: object, media_type: str) -> OpenApiResponses:
    return {
        status: {"description": title, "content": {media_type: {"schema": forms.get(status, form)}}}
        for status, title in problems.TITLES.items()
        if status != 501
    }


#: The error answers of the native API, and of the working-memory API.
NATIVE: Final = _answers({}, _PROBLEM, "application/problem+json")
COMPAT: Final = _answers({422: _FAULTS}, _DETAIL, "application/json")
