"""Store and read values beside the window of a session (adapters LF-1)."""

import base64
import binascii
from typing import Annotated, Any, Final, TypeAlias

from fastapi import Query
from pydantic import ConfigDict, Field, WithJsonSchema
from starlette.responses import Response

from ledger.application.json_models.key_value_json import KeptBatchShape, KeptPageShape, KeptShape
from ledger.errors import InvalidInput
from ledger.events import JsonObject
from ledger.server.access.callers import ReadCaller, WriteCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody, whole_number
from ledger.server.native.entry_routes import Draft, ExpectedVersion, check_roles
from ledger.server.native.session_conditions_of_writes import ConditionsOf, SessionOf, never_future, tag
from ledger.server.native.state_routes import AtTime, VersionOf, when

router = native_router(prefix="/v1/sessions/{session_id}/kept", tags=["entries"])

MOST_LISTED: Final = 50  # values of a page: each may have megabytes

_VALUE_SCHEMA: Final[JsonObject] = {
    "type": "object",
    "properties": {
        "space": {"type": "string", "pattern": "^[A-Za-z0-9._-]{1,64}$"},
        "key": {"type": "string", "minLength": 1},
        "value": {},
        "base64": {"type": "string", "description": "Bytes instead of a value.", "contentEncoding": "base64"},
        "removed": {"type": "boolean", "description": "Hides the value that is there."},
    },
    "required": ["space", "key"],
    "additionalProperties": False,
}
KeptDraftBody: TypeAlias = Annotated[dict[str, Any], WithJsonSchema(_VALUE_SCHEMA)]


class NewKept(StrictBody):
    """Values under keys of spaces, and entries; all are stored in one write or none."""

    model_config = ConfigDict(
        json_schema_extra={"examples": [{"values": [{"space": "plan", "key": "step/1", "value": {"done": False}}]}]}
    )

    values: Annotated[list[KeptDraftBody], Field(json_schema_extra={"minItems": 1})]
    entries: list[Draft] = Field(default_factory=list)
    expected_version: ExpectedVersion | None = None


@router.post("", status_code=201, operation_id="keep")
async def keep(
    session: SessionOf, caller: WriteCaller, body: NewKept, conditions: ConditionsOf, response: Response
) -> KeptBatchShape:
    """Store values beside the window, which neither models nor searches see; the newest of a key is read."""
    check_roles(session.handle, body.entries)
    guard = await conditions.guard(session, body.expected_version)
    values = [_decoded(raw, f"values[{at}]") for at, raw in enumerate(body.values)]
    with conditions.hold():
        kept = await session.ledger.keep(values=values, entries=body.entries, **session.names, **guard)
    await tag(response, session, kept.version, replayed=kept.replayed)
    return KeptBatchShape(session_id=kept.session_id, version=kept.version, versions=kept.versions)


@router.get("", operation_id="list_kept")
async def listed(
    session: SessionOf,
    caller: ReadCaller,
    service: ServiceOf,
    space: Annotated[str, Query(description="The space of the keys.", examples=["plan"])],
    key: Annotated[list[str] | None, Query(description="Only these keys, each in full.")] = None,
    prefix: Annotated[str, Query(description="Only keys that begin so.")] = "",
    after: Annotated[str | None, Query(description="Only greater keys.")] = None,
    before: Annotated[str | None, Query(description="Only smaller keys.")] = None,
    limit: Annotated[int, whole_number("limit", least=1, most=MOST_LISTED), Query()] = MOST_LISTED,
    version: VersionOf = None,
    at: AtTime = None,
) -> KeptPageShape:
    """List the newest value of each key of a space, now or in the past; none if there is no such key."""
    moment = when(version, never_future(service, at))
    if key is not None:
        if prefix or after is not None or before is not None:
            raise InvalidInput("bad_arguments", "must not be sent together with prefix, after or before", field="key")
        if len(key) > MOST_LISTED:
            raise InvalidInput("bad_limit", f"must be at most {MOST_LISTED} keys", field="key", limit=MOST_LISTED)
        found = await session.ledger.get_kept_values(space=space, keys=key, **session.names, **moment)
        if not found:
            await session.state()  # an unknown session is refused
        return KeptPageShape(values=tuple(KeptShape.of(found[name]) for name in sorted(found)), next_after=None)
    kept = await session.ledger.list_kept(
        space=space, prefix=prefix, after=after, before=before, limit=limit, **session.names, **moment
    )
    if not kept:
        await session.state()
    return KeptPageShape(
        values=tuple(KeptShape.of(each) for each in kept), next_after=kept[-1].key if len(kept) == limit else None
    )


def _decoded(raw: JsonObject, field: str) -> JsonObject:
    """Return a value as the library takes it: bytes instead of *base64*.

    Raises:
        InvalidInput: it is not base64, or there is a value too.
    """
    if "base64" not in raw:
        return raw
    if "value" in raw:
        raise InvalidInput("bad_arguments", "must not be sent together with value", field=f"{field}.base64")
    try:
        content = base64.b64decode(raw["base64"], validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise InvalidInput("bad_value", "must be base64 of bytes", field=f"{field}.base64") from None
    return {name: value for name, value in raw.items() if name != "base64"} | {"value": content}
