"""What a dialect of OpenTelemetry says of a span, in attributes of the conventions. Source: adapters IN-21."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from ledger.events import JsonObject
from ledger.formats.importers.elements.importer import arguments_of

CONVERSATION: Final = "gen_ai.conversation.id"
INSTRUCTIONS: Final = "gen_ai.system_instructions"
INPUT: Final = "gen_ai.input.messages"
OUTPUT: Final = "gen_ai.output.messages"
TOOL_ARGUMENTS: Final = "gen_ai.tool.call.arguments"
TOOL_RESULT: Final = "gen_ai.tool.call.result"
TOOL_NAME: Final = "gen_ai.tool.name"
TOOL_ID: Final = "gen_ai.tool.call.id"
MODEL: Final = "gen_ai.response.model"
CALL: Final = "chat"
TOOL: Final = "execute_tool"
AGENT: Final = "invoke_agent"


class Reading(msgspec.Struct, frozen=True, kw_only=True):
    """What a dialect says of a span: attributes of the conventions, and those of its own that they take the place of.

    With *keeps*, the span has content that is no message, so that it is stored as it is.
    """

    found: JsonObject = {}
    used: frozenset[str] = frozenset()
    keeps: bool = False
    of_events: bool = False


def used(attributes: Mapping[str, Any], *names: str) -> frozenset[str]:
    """Return those of *names* that *attributes* have."""
    return frozenset(name for name in names if name in attributes)


def json_in(value: Any) -> Any:
    """Return the JSON in a text; a text that is none, and other values, as they are."""
    if not isinstance(value, str) or value.lstrip()[:1] not in {"[", "{", '"'}:
        return value
    found, _ = arguments_of(value)
    return found
