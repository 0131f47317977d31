"""The ``ai.*`` attributes of the Vercel AI SDK. Source: adapters IN-21."""

from collections.abc import Mapping
from typing import Any

from ledger.events import JsonObject
from ledger.formats.importers.opentelemetry.otlp_readings import (
    AGENT,
    CALL,
    INPUT,
    MODEL,
    OUTPUT,
    TOOL,
    TOOL_ARGUMENTS,
    TOOL_ID,
    TOOL_NAME,
    TOOL_RESULT,
    Reading,
    json_in,
    used,
)
from ledger.formats.importers.opentelemetry.otlp_records import OPERATION, TelemetryRecord
from ledger.formats.importers.run_messages import messages_in


def of_vercel(record: TelemetryRecord) -> Reading | None:
    """``ai.*`` of the Vercel AI SDK; what its outer spans say, their calls repeat."""
    own = {name: value for name, value in record.attributes.items() if name.startswith("ai.")}
    if not own:
        return None
    operation = str(own.get("ai.operationId") or record.attributes.get("operation.name") or record.name)
    if "ai.toolCall.name" in own or operation.startswith("ai.toolCall"):
        found = {
            OPERATION: TOOL,
            TOOL_NAME: own.get("ai.toolCall.name"),
            TOOL_ID: own.get("ai.toolCall.id"),
            TOOL_ARGUMENTS: own.get("ai.toolCall.args", own.get("ai.toolCall.input")),
            TOOL_RESULT: own.get("ai.toolCall.result", own.get("ai.toolCall.output")),
        }
        return Reading(found=found, used=used(own, "ai.toolCall.args", "ai.toolCall.result"))
    given, whole = own.get("ai.prompt.messages"), json_in(own.get("ai.prompt"))
    messages = messages_in(json_in(given), "user") if given is not None else messages_in(whole, "user")
    if isinstance(whole, Mapping) and isinstance(whole.get("prompt"), str) and given is None:
        messages = [{"role": "user", "content": whole["prompt"]}]
    if isinstance(whole, Mapping) and isinstance(whole.get("system"), str):
        messages = [{"role": "system", "content": whole["system"]}, *(messages or [])]
    found = {
        OPERATION: CALL if ".do" in operation else "embeddings" if ".embed" in operation else AGENT,
        INPUT: messages if messages is not None else given,
        OUTPUT: _answer(own),
        MODEL: own.get("ai.response.model", own.get("ai.model.id")),
        "gen_ai.usage.input_tokens": own.get("ai.usage.inputTokens", own.get("ai.usage.promptTokens")),
        "gen_ai.usage.output_tokens": own.get("ai.usage.outputTokens", own.get("ai.usage.completionTokens")),
    }
    texts = [f"ai.{place}.{name}" for place in ("response", "result") for name in ("text", "toolCalls", "reasoning")]
    return Reading(found=found, used=used(own, "ai.prompt.messages", "ai.prompt", *texts))


def _answer(own: JsonObject) -> list[Any] | None:
    """Return the answer in the attributes of a span."""
    parts: list[Any] = []
    for place in ("ai.response", "ai.result"):
        if own.get(f"{place}.reasoning"):
            parts.append({"type": "reasoning", "content": own[f"{place}.reasoning"]})
        text = own.get(f"{place}.text") or own.get(f"{place}.object")
        if text:
            parts.append({"type": "text", "content": text})
        calls = json_in(own.get(f"{place}.toolCalls"))
        if isinstance(calls, list):
            parts += [{**call, "type": "tool-call"} for call in calls if isinstance(call, Mapping)]
        if parts:
            return [{"role": "assistant", "parts": parts}]
    return None
