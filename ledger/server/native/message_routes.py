"""Add messages as a provider's client has them (adapters PM-1)."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field
from starlette.responses import Response

from ledger.application.json_models.entry_json import AddedShape
from ledger.application.writing.entry_writes import BATCH_ENTRIES
from ledger.server.access.callers import WriteCaller
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody
from ledger.server.native.entry_routes import ExpectedVersion
from ledger.server.native.session_conditions_of_writes import ConditionsOf, SessionOf, tag

router = native_router(prefix="/v1/sessions/{session_id}/messages", tags=["entries"])


class NewMessages(StrictBody):
    """OpenAI chat messages, items of OpenAI Responses or Anthropic messages; all are added or none."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "messages": [
                        {"role": "user", "content": [{"type": "text", "text": "Is the oven free?"}]},
                        {
                            "role": "assistant",
                            "content": [{"type": "tool_use", "id": "toolu_1", "name": "oven", "input": {"day": 3}}],
                        },
                        {
                            "role": "user",
                            "content": [{"type": "tool_result", "tool_use_id": "toolu_1", "content": "free"}],
                        },
                    ]
                }
            ]
        }
    )

    messages: Annotated[list[dict[str, Any]], Field(json_schema_extra={"minItems": 1, "maxItems": BATCH_ENTRIES})]
    expected_version: ExpectedVersion | None = None


@router.post("", status_code=201, operation_id="add_messages")
async def add(
    session: SessionOf, caller: WriteCaller, body: NewMessages, conditions: ConditionsOf, response: Response
) -> AddedShape:
    """Add messages as they are; images and files in base64 are kept beside the window."""
    guard = await conditions.guard(session, body.expected_version)
    with conditions.hold():
        added = await session.ledger.add_messages(
            session.session_id,
            body.messages,
            idempotency_key=guard.get("idempotency_key"),
            expected_version=guard.get("expected_version"),
            user_id=session.names["user_id"],
        )
    await tag(response, session, added.version, replayed=added.replayed)
    return AddedShape.model_validate(added)
