"""The dialects of OpenTelemetry in which calls of models are reported, brought into the conventions of today.

A dialect is an attribute or event that it alone has. Each field of a call (what was told, what was answered, the
conversation) is taken from the first dialect that has it, since spans may be of two. Source: adapters IN-21.
"""

from collections.abc import Callable, Collection, Mapping
from typing import Final

from msgspec.structs import replace

from ledger.formats.importers.opentelemetry.otlp_events import listed_events, messages_of_events
from ledger.formats.importers.opentelemetry.otlp_indexed import indexed, of_openinference, of_openllmetry
from ledger.formats.importers.opentelemetry.otlp_readings import (
    AGENT,
    CALL,
    CONVERSATION,
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
from ledger.formats.importers.opentelemetry.otlp_vercel import of_vercel
from ledger.formats.importers.run_messages import messages_in

#: Where dialects name the conversation, after that of the conventions.
_CONVERSATIONS: Final = (
    *("langfuse.session.id", "gcp.vertex.agent.session_id", "session.id", "langsmith.trace.session_id"),
    *(
        f"{prefix}.{name}"
        for prefix in ("traceloop.association.properties", "ai.telemetry.metadata", "langsmith.metadata")
        for name in ("session_id", "sessionId", "thread_id", "threadId", "conversation_id", "conversationId", "chat_id")
    ),
)


def in_conventions(record: TelemetryRecord) -> TelemetryRecord:
    """Return *record* with the attributes of the conventions, and the names of the dialects that had them."""
    attributes, events, names = dict(record.attributes), record.events, list[str]()
    keeps = False
    for name, dialect in DIALECTS.items():
        reading = dialect(record)
        if reading is None:
            continue
        names.append(name)
        keeps = keeps or reading.keeps
        new = {key: value for key, value in reading.found.items() if value is not None and attributes.get(key) is None}
        if new.keys() & {INPUT, OUTPUT, TOOL_ARGUMENTS, TOOL_RESULT}:
            for name_used in reading.used:
                attributes.pop(name_used, None)
            events = () if reading.of_events else events
        attributes.update(new)
    if names and attributes.get(CONVERSATION) is None:
        own = next((value for name in _CONVERSATIONS if isinstance(value := attributes.get(name), str) and value), None)
        attributes.update({} if own is None else {CONVERSATION: own})
    return replace(record, attributes=attributes, events=events, dialects=tuple(names), keeps=keeps)


def unknown_content(record: TelemetryRecord) -> str | None:
    """Return the name of an attribute of *record* that holds messages of no known dialect."""
    for name, value in record.attributes.items():
        if isinstance(value, str) and value.lstrip()[:1] in {"[", "{"} and '"role"' in value:
            return name
    return None


def _openinference(record: TelemetryRecord) -> Reading | None:
    attributes = record.attributes
    kind = attributes.get("openinference.span.kind")
    before, after = (indexed(attributes, f"llm.{side}_messages") for side in ("input", "output"))
    if kind is None and not before and not after:
        return None
    given, returned = attributes.get("input.value"), attributes.get("output.value")
    if kind == "TOOL":
        found = {
            OPERATION: TOOL,
            TOOL_NAME: attributes.get("tool.name", attributes.get("tool_call.function.name")),
            TOOL_ID: attributes.get("tool_call.id", attributes.get("tool.id")),
            TOOL_ARGUMENTS: attributes.get("tool.parameters", given),
            TOOL_RESULT: returned,
        }
        return Reading(found=found, used=used(attributes, "output.value"))
    if kind not in {"LLM", None}:
        agent = {OPERATION: AGENT if kind == "AGENT" else str(kind).lower()}
        return Reading(found=agent, keeps=given is not None or returned is not None)
    inputs = list(map(of_openinference, before)) or messages_in(json_in(given), "user")
    answered = list(map(of_openinference, after)) or messages_in(json_in(returned), "assistant")
    counts = {"input": attributes.get("llm.token_count.prompt"), "output": attributes.get("llm.token_count.completion")}
    found = {
        OPERATION: CALL,
        INPUT: inputs,
        OUTPUT: answered,
        MODEL: attributes.get("llm.model_name"),
        **{f"gen_ai.usage.{name}_tokens": count for name, count in counts.items()},
    }
    whole = {"input.value", "output.value"}  # the same, as the provider's request and answer
    prefixes = ("llm.input_messages.", "llm.output_messages.")
    return Reading(found=found, used=frozenset(key for key in attributes if key.startswith(prefixes) or key in whole))


def _openllmetry(record: TelemetryRecord) -> Reading | None:
    attributes = record.attributes
    kind = attributes.get("traceloop.span.kind")
    prompts = indexed(attributes, "gen_ai.prompt") or indexed(attributes, "llm.prompts")
    answers = indexed(attributes, "gen_ai.completion") or indexed(attributes, "llm.completions")
    if not prompts and not answers and kind is None and "llm.request.type" not in attributes:
        return None
    given, returned = attributes.get("traceloop.entity.input"), attributes.get("traceloop.entity.output")
    if kind == "tool":
        named = {TOOL_NAME: attributes.get("traceloop.entity.name")}
        found = {OPERATION: TOOL, **named, TOOL_ARGUMENTS: given, TOOL_RESULT: returned}
        return Reading(found=found, used=used(attributes, "traceloop.entity.input", "traceloop.entity.output"))
    if kind is not None and not prompts and not answers:
        return Reading(found={OPERATION: str(kind)}, keeps=given is not None or returned is not None)
    counts = {
        "input": attributes.get("gen_ai.usage.prompt_tokens"),
        "output": attributes.get("gen_ai.usage.completion_tokens"),
    }
    found = {
        OPERATION: CALL,
        INPUT: [of_openllmetry(each, "user") for each in prompts] or None,
        OUTPUT: [of_openllmetry(each, "assistant") for each in answers] or None,
        **{f"gen_ai.usage.{name}_tokens": count for name, count in counts.items()},
    }
    prefixes = ("gen_ai.prompt.", "gen_ai.completion.", "llm.prompts.", "llm.completions.")
    return Reading(found=found, used=frozenset(name for name in attributes if name.startswith(prefixes)))


def _events(record: TelemetryRecord) -> Reading | None:
    """An event for each message, as conventions before 1.37, Strands, Semantic Kernel and Logfire have them."""
    if not record.events:
        return None
    before, after = messages_of_events(record.events)
    return Reading(found={OPERATION: CALL, INPUT: before or None, OUTPUT: after or None}, of_events=True)


def _logfire(record: TelemetryRecord) -> Reading | None:
    """Attributes of Pydantic AI and Logfire: events as JSON, or a request and its answer."""
    attributes = record.attributes
    events = listed_events(attributes.get("events") or attributes.get("all_messages_events"))
    whole = attributes.get("pydantic_ai.all_messages")
    request, response = json_in(attributes.get("request_data")), json_in(attributes.get("response_data"))
    if events:
        before, after = messages_of_events(events)
        operation = CALL if "events" in attributes else AGENT
        found = {OPERATION: operation, INPUT: before or None, OUTPUT: after or None}
        return Reading(found=found, used=used(attributes, "events", "all_messages_events"))
    if whole is not None:
        found = {OPERATION: AGENT, INPUT: messages_in(json_in(whole), "user")}
        return Reading(found=found, used=used(attributes, "pydantic_ai.all_messages"))
    if not isinstance(request, Mapping):
        return None
    inputs, model = messages_in(request, "user"), request.get("model")
    if isinstance(request.get("system"), str) and inputs is not None:
        inputs = [{"role": "system", "content": request["system"]}, *inputs]
    found = {OPERATION: CALL, INPUT: inputs, OUTPUT: messages_in(response, "assistant"), MODEL: model}
    return Reading(found=found)


def _langfuse(record: TelemetryRecord) -> Reading | None:
    return _reported(record, "langfuse.observation.", ("input", "output", "type"), "langfuse.observation.model.name")


def _mlflow(record: TelemetryRecord) -> Reading | None:
    return _reported(record, "mlflow.", ("spanInputs", "spanOutputs", "spanType"), "mlflow.chat.model")


def _reported(record: TelemetryRecord, prefix: str, names: tuple[str, str, str], model: str) -> Reading | None:
    """Return what a dialect with one input and one output for spans of all types says."""
    attributes = record.attributes
    given, returned, kind = (attributes.get(f"{prefix}{name}") for name in names)
    if given is None and returned is None and kind is None:
        return None
    kind = str(json_in(kind) or "span").strip('"').lower()
    if kind == "tool":
        found = {OPERATION: TOOL, TOOL_NAME: record.name, TOOL_ARGUMENTS: given, TOOL_RESULT: returned}
        return Reading(found=found, used=used(attributes, *(f"{prefix}{name}" for name in names[:2])))
    if kind not in {"generation", "llm", "chat_model"}:
        return Reading(found={OPERATION: kind}, keeps=given is not None or returned is not None)
    inputs, answered = messages_in(json_in(given), "user"), messages_in(json_in(returned), "assistant")
    found = {OPERATION: CALL, INPUT: inputs, OUTPUT: answered, MODEL: attributes.get(model)}
    read = used(attributes, *(f"{prefix}{name}" for name in names[:2]))
    return Reading(found=found, used=read, keeps=inputs is None and given is not None)


def _adk(record: TelemetryRecord) -> Reading | None:
    """``gcp.vertex.agent.*`` of Google ADK."""
    prefix = "gcp.vertex.agent."
    own = {name.removeprefix(prefix): each for name, each in record.attributes.items() if name.startswith(prefix)}
    if not own:
        return None
    if "tool_call_args" in own or "tool_response" in own:
        found = {OPERATION: TOOL, TOOL_ARGUMENTS: own.get("tool_call_args"), TOOL_RESULT: own.get("tool_response")}
        return Reading(found=found, used=frozenset({f"{prefix}tool_call_args", f"{prefix}tool_response"}))
    request, response = json_in(own.get("llm_request")), json_in(own.get("llm_response"))
    if not isinstance(request, Mapping) or not request:
        return Reading()
    config = request.get("config")
    prompt = config.get("system_instruction") if isinstance(config, Mapping) else None
    inputs = list(request.get("contents") or ())
    if prompt:
        inputs.insert(
            0, {**prompt, "role": "system"} if isinstance(prompt, Mapping) else {"role": "system", "content": prompt}
        )
    answered = response.get("content") if isinstance(response, Mapping) else None
    found = {
        OPERATION: CALL,
        INPUT: inputs or None,
        OUTPUT: [answered] if answered else None,
        MODEL: request.get("model"),
    }
    return Reading(found=found, used=frozenset({f"{prefix}llm_request", f"{prefix}llm_response"}))


def _prompts(record: TelemetryRecord) -> Reading | None:
    """``gen_ai.prompt`` and ``gen_ai.completion`` as one JSON each, as LangSmith has them."""
    given, returned = (record.attributes.get(f"gen_ai.{name}") for name in ("prompt", "completion"))
    if given is None and returned is None:
        return None
    inputs, answered = messages_in(json_in(given), "user"), messages_in(json_in(returned), "assistant")
    found = {OPERATION: CALL, INPUT: inputs, OUTPUT: answered}
    return Reading(found=found, used=frozenset({"gen_ai.prompt", "gen_ai.completion"}))


#: In the order in which they are asked for each field, after the conventions themselves.
DIALECTS: Final[Mapping[str, Callable[[TelemetryRecord], Reading | None]]] = {
    "events per message": _events,
    "Vercel AI SDK": of_vercel,
    "OpenInference": _openinference,
    "OpenLLMetry": _openllmetry,
    "Logfire": _logfire,
    "Langfuse": _langfuse,
    "Google ADK": _adk,
    "MLflow": _mlflow,
    "gen_ai.prompt": _prompts,
}


#: How content is turned on, as far as a dialect has one way.
_CAPTURE: Final = {
    "Vercel AI SDK": "leave out recordInputs: false and recordOutputs: false",
    "OpenInference": "unset OPENINFERENCE_HIDE_INPUTS and OPENINFERENCE_HIDE_OUTPUTS",
    "OpenLLMetry": "set TRACELOOP_TRACE_CONTENT=true",
    "Google ADK": "set ADK_CAPTURE_MESSAGE_CONTENT_IN_SPANS=true",
    "Logfire": "let include_content be true",
}
_CONVENTIONS: Final = (
    "set OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT=SPAN_ONLY and "
    "OTEL_SEMCONV_STABILITY_OPT_IN=gen_ai_latest_experimental where the agent runs"
)


def how_to_capture(found: Collection[str]) -> str:
    """Return how content is turned on in the dialects that were *found*, or else in the conventions."""
    hints = [f"{name} was found: {_CAPTURE[name]}" for name in DIALECTS if name in found and name in _CAPTURE]
    return "; ".join(hints) or _CONVENTIONS
