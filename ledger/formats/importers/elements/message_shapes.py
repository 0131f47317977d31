"""The parts of messages of any SDK, in one shape: that of OpenTelemetry's conventions for generative AI.

These are ``text`` and ``reasoning`` with ``content``; ``tool_call`` with ``id``, ``name``, ``arguments``; and
``tool_call_response`` with ``id``, ``response``, perhaps ``name`` and ``is_error``. Other fields of a part stay in it.
A part of `MARKERS` says nothing to a model; one of `MEDIA` is shown by its name. Source: adapters IN-17.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from ledger.events import JsonObject

#: Marks a message that does not say who speaks.
ROLE_GUESSED: Final = "role was guessed"
#: What stands between parts and says nothing to a model.
MARKERS: Final = frozenset({"step-start", "cachePoint", "source-url", "source-document", "source", "guardContent"})
#: What is shown by its name, with the part in the data of the entry.
MEDIA: Final = frozenset(
    {
        *("image", "image_url", "input_image", "image_file", "output_image", "image_generation"),
        *("file", "input_file", "document", "document_url", "media", "blob", "uri", "file_id"),
        *("audio", "input_audio", "output_audio", "audio_url", "video", "video_url", "inlineData", "inline_data"),
        *("fileData", "file_data", "executableCode", "codeExecutionResult", "citationsContent", "search_result"),
        *("executable_code", "code_execution_result", "container_upload"),
    }
)
_TEXTS: Final = frozenset({"text", "input_text", "output_text", "summary_text"})
_THOUGHTS: Final = frozenset({"reasoning", "thinking", "redacted_thinking", "redacted-reasoning", "reasoning_text"})
_CALLS: Final = frozenset({"tool_call", "tool-call", "function_call", "tool_use"})
_RESULTS: Final = frozenset(
    {"tool_call_response", "tool-result", "tool-error", "tool_result", "function_call_output", "tool_response"}
)
#: Parts that have no type, by the field that says what they are: Bedrock Converse and Gemini.
_UNTYPED: Final = frozenset(
    {
        *("text", "toolUse", "toolResult", "reasoningContent", "image", "document", "video", "cachePoint"),
        *("functionCall", "function_call", "functionResponse", "function_response", "guardContent"),
        *("inlineData", "inline_data", "fileData", "file_data", "citationsContent", "audio"),
        *("executableCode", "executable_code", "codeExecutionResult", "code_execution_result"),
    }
)
#: Types that neither chat nor Anthropic messages have.
_OF_OTHERS: Final = frozenset(
    {"tool-call", "tool-result", "tool-error", "tool_call", "tool_call_response", "reasoning", "dynamic-tool"}
)
_IDS: Final = ("id", "toolCallId", "tool_call_id", "toolUseId", "tool_use_id", "call_id")
_NAMES: Final = ("name", "toolName", "tool_name")
_ARGUMENTS: Final = ("arguments", "input", "args")
_RESPONSES: Final = ("response", "result", "output", "content", "error")
_FAILED: Final = ("isError", "is_error")
#: How the AI SDK holds the output of a tool.
_OUTPUTS: Final = frozenset({"text", "json", "content", "error-text", "error-json", "execution-denied"})


def has_parts(message: Any) -> bool:
    """Tell whether *message* has parts that neither chat nor Anthropic messages have."""
    if not isinstance(message, Mapping):
        return False
    if isinstance(message.get("parts"), list):
        return True
    content = message.get("content")
    return isinstance(content, list) and any(map(_is_of_others, content))


def parts_of(message: Mapping[str, Any]) -> Iterator[JsonObject]:
    """Yield the parts of *message* in the shape of the conventions: thinking and text, then calls beside them."""
    thought = message.get("reasoning_content")
    if isinstance(thought, str) and thought.strip():
        yield {"type": "reasoning", "content": thought}
    given = message.get("parts")
    if not isinstance(given, list):
        given = message.get("content")
    listed = [given] if isinstance(given, str | Mapping) else list(given or ())
    answered = message.get("tool_call_id")
    if message.get("role") in {"tool", "function"} and (answered or message.get("name")) and _are_texts(listed):
        texts = "\n".join(str(part["content"]) for each in listed for part in _normal(each))
        yield {"type": "tool_call_response", "id": answered, "name": message.get("name"), "response": texts}
        return
    for part in listed:
        yield from _normal(part)
    for call in (*(message.get("tool_calls") or ()), *filter(None, [message.get("function_call")])):
        yield _called(call)


def unwrapped(output: Any) -> tuple[Any, bool]:
    """Return the *output* of a tool without what the AI SDK wraps it in, and whether it is a failure."""
    if isinstance(output, Mapping) and output.get("type") in _OUTPUTS and "value" in output and len(output) <= 3:
        return output["value"], str(output["type"]).startswith(("error", "execution-denied"))
    if isinstance(output, list) and len(output) == 1 and isinstance(output[0], Mapping):
        if output[0].keys() == {"json"}:
            return output[0]["json"], False
        if output[0].keys() == {"text"}:
            return output[0]["text"], False
    return output, False


def _normal(part: Any) -> Iterator[JsonObject]:
    """Yield *part* in the shape of the conventions; a tool of an AI SDK UI message is a call and its result."""
    if isinstance(part, str):
        yield {"type": "text", "content": part}
        return
    if not isinstance(part, Mapping):
        yield {"type": "unknown", "value": part}
        return
    kind = part.get("type")
    if not isinstance(kind, str):
        yield _untyped(part)
    elif kind in _TEXTS:
        yield _text(part, "text")
    elif kind == "refusal":
        yield {**part, "type": "text", "content": part.get("refusal")}
    elif kind in _THOUGHTS:
        yield _text(part, "reasoning")
    elif kind == "tool-invocation" and isinstance(part.get("toolInvocation"), Mapping):
        yield from _tool_of_ui({**part["toolInvocation"], "type": "dynamic-tool"})
    elif kind in _CALLS or kind.endswith("_tool_use"):
        yield _call(part, kind)
    elif kind in _RESULTS or kind.endswith("_tool_result"):
        yield _response(part, kind)
    elif kind == "dynamic-tool" or (kind.startswith("tool-") and "toolCallId" in part):
        yield from _tool_of_ui(part)
    else:
        yield dict(part)


def _untyped(part: Mapping[str, Any]) -> JsonObject:
    kind = next((name for name in part if name in _UNTYPED), "unknown")
    rest = {name: value for name, value in part.items() if name != kind}
    held = part.get(kind)
    if kind == "text":
        return {"type": "reasoning" if part.get("thought") is True else "text", "content": held, **rest}
    if kind == "reasoningContent" and isinstance(held, Mapping):
        thought = held.get("reasoningText")
        whole = thought if isinstance(thought, Mapping) else held
        return {**whole, "type": "reasoning", **rest, "content": _thought_text(held)}
    if kind in {"toolUse", "functionCall", "function_call"} and isinstance(held, Mapping):
        return {**_call(held, "tool_call"), **rest}
    if kind in {"toolResult", "functionResponse", "function_response"} and isinstance(held, Mapping):
        return {**_response(held, "tool_call_response"), **rest}
    return {**part, "type": kind}


def _thought_text(held: Mapping[str, Any]) -> Any:
    thought = held.get("reasoningText")
    return thought.get("text") if isinstance(thought, Mapping) else thought


def _text(part: Mapping[str, Any], kind: str) -> JsonObject:
    """Return a part of text; one of the Assistants API has annotations beside its value."""
    name = next((name for name in ("content", "text", "thinking", "reasoning") if part.get(name) is not None), "text")
    held = part.get(name)
    rest = {key: value for key, value in part.items() if key not in {name, "type"}}
    if isinstance(held, Mapping) and isinstance(held.get("value"), str):
        beside = {key: value for key, value in held.items() if key != "value" and value}
        return {"type": kind, "content": held["value"], **beside, **rest}
    return {"type": kind, "content": held, **rest}


def _called(call: Mapping[str, Any]) -> JsonObject:
    """Return a call as chat messages have them, of a function or a custom tool; or as LangChain has them."""
    held = next((name for name in ("function", "custom") if isinstance(call.get(name), Mapping)), None)
    whole = {**call, **call[held]} if held else dict(call)
    if held:
        del whole[held]
    return _call(whole, "tool_call")


def _call(part: Mapping[str, Any], kind: str) -> JsonObject:
    own, named, given = (_field(part, names) for names in (_IDS, _NAMES, _ARGUMENTS))
    known = {"type", own, named, given}
    rest = {name: value for name, value in part.items() if name not in known and value is not None}
    if kind.endswith("_tool_use"):
        rest["tool_type"] = kind
    return {"type": "tool_call", "id": part.get(own), "name": part.get(named), "arguments": part.get(given), **rest}


def _response(part: Mapping[str, Any], kind: str) -> JsonObject:
    own, named, given = (_field(part, names) for names in (_IDS, _NAMES, _RESPONSES))
    output, failed = unwrapped(part.get(given))
    failed = failed or kind == "tool-error" or part.get("status") == "error" or any(part.get(name) for name in _FAILED)
    known = {"type", own, named, given, *_FAILED}
    rest = {name: value for name, value in part.items() if name not in known and value is not None}
    if kind.endswith("_tool_result"):
        rest["tool_type"] = kind
    failure = {"is_error": failed} if failed or any(name in part for name in _FAILED) else {}
    about = {"id": part.get(own), "name": part.get(named), "response": output}
    return {"type": "tool_call_response", **about, **failure, **rest}


def _tool_of_ui(part: Mapping[str, Any]) -> Iterator[JsonObject]:
    kind, state = str(part["type"]), part.get("state")
    name = part.get("toolName") or kind.removeprefix("tool-")
    ended = next((key for key in ("output", "result", "errorText") if part.get(key) is not None), None)
    known = {"type", "toolCallId", "toolName", "input", "args", "output", "result", "errorText"}
    rest = {key: value for key, value in part.items() if key not in known and value is not None}
    given = part.get("input", part.get("args", part.get("rawInput")))
    yield {"type": "tool_call", "id": part.get("toolCallId"), "name": name, "arguments": given, **rest}
    if ended is not None or state in {"output-available", "output-error", "result"}:
        output, failed = unwrapped(part.get(ended or "output"))
        failed = failed or ended == "errorText" or state == "output-error"
        failure = {"is_error": True} if failed else {}
        yield {"type": "tool_call_response", "id": part.get("toolCallId"), "name": name, "response": output, **failure}


def _field(part: Mapping[str, Any], names: tuple[str, ...]) -> str:
    return next((name for name in names if part.get(name) is not None), names[0])


def _are_texts(parts: list[Any]) -> bool:
    return all(normal["type"] == "text" for part in parts for normal in _normal(part))


def _is_of_others(part: Any) -> bool:
    if not isinstance(part, Mapping):
        return False
    kind = part.get("type")
    if not isinstance(kind, str):
        return bool(_UNTYPED & part.keys())
    return (
        kind in _OF_OTHERS
        or (kind in _TEXTS and isinstance(part.get("text"), Mapping))
        or (kind == "text" and "content" in part)
        or (kind.startswith("tool-") and "toolCallId" in part)
    )
