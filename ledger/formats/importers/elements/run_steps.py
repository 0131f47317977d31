"""Runs of the OpenAI Assistants API and their steps: calls of tools, and what they returned. Source: adapters IN-18."""

from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from ledger.formats.importers.elements.fitting import fitted
from ledger.formats.importers.elements.importer import arguments_of, moment
from ledger.formats.importers.elements.steps import hidden


class SpooledPlace(msgspec.Struct, frozen=True, kw_only=True):
    """Where an object is in a spool, and what its order follows from.

    *within* is the number of the list that it is in, 0 for objects on lines of their own; *message* is the id of the
    message that a step creates.
    """

    time: float
    place: int
    within: int
    id: str
    run: str
    message: str


def in_order(
    messages: Sequence[SpooledPlace], runs: Sequence[SpooledPlace], steps: Sequence[SpooledPlace]
) -> list[int]:
    """Return the places of a thread in the order in which things were said, by their times.

    Of one second, a step comes before the message of its run that it leads to, as the steps of that run say; else the
    order in the file decides, which may have the newest first.
    """
    sign = _sign(messages, 1)
    key_of = {
        place.place: (place.time, _sign(kind, sign) * place.place) for kind in (messages, runs, steps) for place in kind
    }
    of_steps = sorted(steps, key=lambda step: key_of[step.place])
    number = {step.place: at for at, step in enumerate(of_steps)}
    created = {step.message: step for step in of_steps if step.message}
    waiting = deque(sorted([*runs, *steps], key=lambda place: key_of[place.place]))
    found: list[int] = []

    def is_before(place: SpooledPlace, message: SpooledPlace) -> bool:
        if place.time != message.time:
            return place.time < message.time
        by_step = created.get(message.id)
        if by_step is not None and place.run == by_step.run and place is not by_step:
            return number[place.place] < number[by_step.place]
        if place.within == message.within:
            return key_of[place.place] < key_of[message.place]
        return bool(message.run) and message.run in {place.run, place.id} and place is not by_step

    for message in sorted(messages, key=lambda message: key_of[message.place]):
        while waiting and is_before(waiting[0], message):
            found.append(waiting.popleft().place)
        found.append(message.place)
    return [*found, *(place.place for place in waiting)]


def _sign(places: Sequence[SpooledPlace], otherwise: int) -> int:
    """Return -1 for *places* that have the newest first, and *otherwise* if their times do not tell."""
    if not places or places[0].time == places[-1].time:
        return otherwise
    return -1 if places[0].time > places[-1].time else 1


def creates(step: JsonObject) -> str:
    """Return the id of the message that a *step* creates; empty if it calls tools."""
    created = step["step_details"].get("message_creation")
    return str(created["message_id"]) if created else ""


def run_entries(run: JsonObject) -> list[JsonObject]:
    """Return the hidden entry of a *run*, which has its instructions, model and usage."""
    return [_record(run, f"[run {run.get('model') or run.get('id') or ''}]")]


def step_entries(step: JsonObject) -> list[JsonObject]:
    """Return the calls of a *step*, their results, and the hidden entry of the step itself.

    Raises:
        AttributeError, KeyError, TypeError: it does not have the shape of a step.
    """
    calls = step["step_details"].get("tool_calls") or []
    created_at, status = moment(step.get("created_at")), str(step.get("status") or "")
    shown = [{**entry, "created_at": created_at} for entry in (*map(_call, calls), *_results(calls, status))]
    rest = {**step, "step_details": {name: held for name, held in step["step_details"].items() if name != "tool_calls"}}
    return [*shown, _record(rest, f"[step {step['step_details'].get('type') or step.get('type')}]")]


def _record(value: JsonObject, title: str) -> JsonObject:
    entry = {
        "kind": "context",
        "content": title,
        "created_at": moment(value.get("created_at")),
        "data": {str(value["object"]): value},
    }
    return hidden(entry, str(value["object"]))


def _call(call: JsonObject) -> JsonObject:
    kind = str(call["type"])
    held = call.get(kind)
    match kind:
        case "function":
            arguments, raw = arguments_of(call["function"].get("arguments"))
            name = str(call["function"].get("name") or "unknown")
        case "code_interpreter":
            arguments, raw, name = {"input": call[kind].get("input")}, None, kind
        case "file_search" | "retrieval":
            searched = held.items() if isinstance(held, Mapping) else ()
            arguments, raw, name = {key: value for key, value in searched if key != "results"}, None, kind
        case _:
            return {"kind": "message", "role": "assistant", "content": f"[{kind}]", "data": {"part": call}}
    known = {"id", "type", kind}
    data = {key: value for key, value in call.items() if key not in known}
    if kind == "function":
        data |= {key: value for key, value in call[kind].items() if key not in {"name", "arguments", "output"}}
    if raw is not None:
        data["arguments"] = raw
    own = call.get("id")
    return {
        "kind": "tool_call",
        "tool_name": name,
        "tool_call_id": None if own is None else str(own),
        "arguments": arguments,
        "data": data or None,
    }


def _results(calls: Sequence[JsonObject], status: str) -> Iterator[JsonObject]:
    """Yield what *calls* returned, as far as the file says it."""
    for call in calls:
        kind = str(call["type"])
        held = call.get(kind)
        text, data = _result(kind, held if isinstance(held, Mapping) else {}, is_done=status == "completed")
        if text is None:
            continue
        own, name = call.get("id"), held.get("name") if kind == "function" and isinstance(held, Mapping) else kind
        yield fitted(
            {
                "kind": "tool_result",
                "tool_name": str(name or "unknown"),
                "tool_call_id": None if own is None else str(own),
                "content": text,
                "data": data,
            }
        )


def _result(kind: str, held: Mapping[str, Any], *, is_done: bool) -> tuple[str | None, JsonObject | None]:
    """Return the text of a result, None if the file has none, and what the text does not say."""
    if kind == "function":
        output = held.get("output")
        return (output if output is None or isinstance(output, str) else canonical_json(output).decode()), None
    if kind == "code_interpreter":
        outputs = held.get("outputs") or []
        if not outputs and not is_done:
            return None, None
        shown = [str(each["logs"]) if each.get("type") == "logs" else f"[{each.get('type')}]" for each in outputs]
        return "\n".join(shown), {"outputs": outputs} if outputs else None
    results = held.get("results") if kind in {"file_search", "retrieval"} else None
    if results is None:
        return None, None
    found = [
        "\n".join([str(each.get("file_name") or each.get("file_id")), *(str(part.get("text", "")) for part in content)])
        for each in results
        for content in [each.get("content") or []]
    ]
    return "\n\n".join(found), {"results": results}
