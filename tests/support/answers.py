"""Histories of answers that think, speak and call tools, in the shapes of three providers, and what is left of them.

Each piece of an answer has a tag in it, such as ``<7.2>``: the second piece of answer 7.
"""

import json
import re
from collections.abc import Iterable, Mapping
from random import Random
from typing import Any, NamedTuple

from tests.support.request_rules import faults

_TAG = re.compile(r"<(\d+)\.(\d+)>")
_CALLS = ("tool_use", "tool_calls", "function_call")
SHAPES = ("anthropic", "responses", "openai")
#: By the name of a request: the shape whose thinking it takes back.
_OWN = {"anthropic": "anthropic", "responses": "responses", "openai": "openai"}


class AnswerStep(NamedTuple):
    """Messages that are added in one write, or a change: ``edit``, ``remove``, ``pop``, ``settle``, ``clear``, …"""

    kind: str
    messages: tuple[dict[str, Any], ...] = ()
    #: Of a change: which of the active entries it is about, from the oldest (0) to the newest (1).
    place: float = 1
    #: Of an answer: which.
    number: int = 0


class Said:
    """What a history said: the pieces of each answer, and which of them were changed one by one."""

    def __init__(self) -> None:
        self.shapes: dict[int, str] = {}
        self.pieces: dict[int, set[str]] = {}
        self.thoughts: dict[int, set[str]] = {}
        self.edited: set[int] = set()
        self.broken: set[int] = set()
        self.called: set[int] = set()
        self.begun: dict[int, set[str]] = {}

    def changed(self, kind: str, text: str) -> None:
        """Note that the entry with *text* was edited, or taken away without the rest."""
        for number, _ in _TAG.findall(text):
            (self.edited if kind == "edit" else self.broken).add(int(number))

    def adds(self, step: "AnswerStep", active: str) -> None:
        """Note that *step* adds to its answer, after *active* entries; what left, or is about to, is no part of it."""
        number, begun = step.number, self.begun.setdefault(step.number, set())
        if not all(tag in active for tag in begun):
            self.broken.add(number)
        self.called |= {number} if any(kind in str(step.messages) for kind in _CALLS) else set()
        begun |= {f"<{of}.{piece}>" for of, piece in _TAG.findall(json.dumps(step.messages)) if int(of) == number}

    def faults(self, requests: Mapping[str, Mapping[str, Any]]) -> list[str]:
        """Return what providers refuse in *requests*, and each answer of which only a part is there."""
        found = faults(requests)
        for name, request in requests.items():
            shown = {f"<{number}.{piece}>" for number, piece in _TAG.findall(json.dumps(request))}
            for number, pieces in self.pieces.items():
                if number in self.broken or not (number in self.called or self.thoughts[number]):
                    continue
                wanted = set(pieces)  # of those that are there so far
                if self.shapes[number] == _OWN[name] and not (name == "responses" and number in self.edited):
                    wanted |= self.thoughts[number]
                here = shown & (pieces | self.thoughts[number])
                wanted &= self.begun.get(number, set())
                if name == "responses" and wanted == self.thoughts[number]:
                    continue  # no provider takes reasoning without what it led to
                if here and not wanted <= here:
                    found.append(f"{name}: of answer {number} {sorted(wanted - here)} is not there")
            found += self._ids_without_reasoning(request) if name == "responses" else []
        return found

    def _ids_without_reasoning(self, request: Mapping[str, Any]) -> list[str]:
        """Return items that were made after reasoning, and have their id without it."""
        found, reasoned = [], ""
        for item in request["input"]:
            number = str(item.get("id", "")).rpartition("-")[2]
            if item.get("type") == "reasoning":
                reasoned = number
            elif number and self.thoughts.get(int(number)) and number != reasoned:
                found.append(f"responses: {item['id']} without its reasoning")
            elif item.get("role") == "user":
                reasoned = ""
        return found


def history(random: Random, length: int) -> tuple[list[AnswerStep], Said]:
    """Return at most *length* steps, and what they say."""
    said, steps, waiting = Said(), list[AnswerStep](), list[tuple[str, str, int]]()
    for number in range(1, length + 1):
        choice = random.random()
        shape = random.choice(SHAPES)
        if choice < 0.2:
            steps.append(AnswerStep("say", ({"role": "user", "content": f"question {number} " + _filler(random)},)))
        elif choice < 0.6:
            said.shapes[number], said.pieces[number], said.thoughts[number] = shape, set(), set()
            messages, calls = _answer(random, number, shape, said)
            *before, messages = _writes(random, messages) if random.random() < 0.4 else [messages]
            steps += [AnswerStep("say", tuple(written), number=number) for written in before]
            if not before and random.random() < 0.3:
                messages = [{"role": "user", "content": f"question {number}"}, *messages]
            results = [call for call in calls if random.random() < 0.4]
            rest = [call for call in calls if call not in results]
            messages += _results(random, results, said)
            steps.append(AnswerStep("say", tuple(messages), number=number))
            waiting += rest
        elif choice < 0.85 and waiting:
            random.shuffle(waiting)
            count = random.randint(1, len(waiting))
            answered, waiting = waiting[:count], waiting[count:]
            steps.append(AnswerStep("results", tuple(_results(random, answered, said))))
        else:
            kind = random.choice(["edit", "remove", "remove", "pop", "settle", "settle", "erase", "context", "clear"])
            if kind == "clear" and random.random() < 0.8:
                kind = "settle"
            steps.append(AnswerStep(kind, place=random.random()))
    return steps, said


def _writes(random: Random, messages: list[dict[str, Any]]) -> list[list[dict[str, Any]]]:
    """Return the messages of an answer as they are in several writes, as a program adds them one by one."""
    pieces: list[dict[str, Any]] = []
    for message in messages:
        content, calls = message.get("content"), message.get("tool_calls")
        if isinstance(content, list) and "type" not in message:
            pieces += [{**message, "content": [block]} for block in content]
        elif calls:
            pieces += [{name: value for name, value in message.items() if name != "tool_calls"}] if content else []
            first = {} if content else message
            pieces += [
                {"role": "assistant", "content": "", **(first if at == 0 else {}), "tool_calls": [call]}
                for at, call in enumerate(calls)
            ]
        else:
            pieces.append(message)
    written = [[pieces[0]]]
    for piece in pieces[1:]:
        if random.random() < 0.7:
            written.append([])
        written[-1].append(piece)
    return written


def _filler(random: Random) -> str:
    return "word " * random.choice([1, 5, 30])


def _answer(
    random: Random, number: int, shape: str, said: Said
) -> tuple[list[dict[str, Any]], list[tuple[str, str, int]]]:
    """Return an answer as messages, and its calls: id, shape and number."""
    thinks = random.random() < 0.6
    kinds = ["text", "call", "server"] if shape == "anthropic" else ["text", "call"]
    parts = [random.choice(kinds) for _ in range(random.randint(1, 4))]
    tags = [f"<{number}.{at}>" for at in range(len(parts) + 1)]
    if thinks or {"call", "server"} & set(parts):  # texts alone need nothing of each other
        said.pieces[number] |= set(tags[1:])
    if thinks:
        said.thoughts[number].add(tags[0])
    calls = [(f"c{number}.{at}", shape, number) for at, part in enumerate(parts) if part == "call"]
    content = [
        (part, f"c{number}.{at}", f"{_filler(random)}{tag}")
        for at, (part, tag) in enumerate(zip(parts, tags[1:], strict=True))
    ]
    if shape == "anthropic":
        return [{"role": "assistant", "content": list(_blocks(content, tags[0] if thinks else ""))}], calls
    if shape == "responses":
        return list(_items(content, tags[0] if thinks else "", number)), calls
    message: dict[str, Any] = {
        "role": "assistant",
        "content": "\n".join(text for part, _, text in content if part == "text"),
    }
    asked = [
        {"id": call_id, "type": "function", "function": {"name": "look", "arguments": json.dumps({"at": text})}}
        for part, call_id, text in content
        if part == "call"
    ]
    return [
        {**message, **({"tool_calls": asked} if asked else {}), **({"reasoning_content": tags[0]} if thinks else {})}
    ], calls


def _blocks(content: Iterable[tuple[str, str, str]], thought: str) -> Iterable[dict[str, Any]]:
    if thought:
        yield {"type": "thinking", "thinking": thought, "signature": "c2ln"}
    for part, call_id, text in content:
        if part == "text":
            yield {"type": "text", "text": text}
        elif part == "call":
            yield {"type": "tool_use", "id": call_id, "name": "look", "input": {"at": text}}
        else:
            yield {"type": "server_tool_use", "id": f"s{call_id}", "name": "web_search", "input": {"query": text}}
            found = {"type": "web_search_result", "url": "https://a.example", "encrypted_content": text}
            yield {"type": "web_search_tool_result", "tool_use_id": f"s{call_id}", "content": [found]}


def _items(content: Iterable[tuple[str, str, str]], thought: str, number: int) -> Iterable[dict[str, Any]]:
    if thought:
        yield {"type": "reasoning", "id": f"rs-{number}", "summary": [{"type": "summary_text", "text": thought}]}
    for at, (part, call_id, text) in enumerate(content):
        if part == "text":
            spoken = [{"type": "output_text", "text": text, "annotations": []}]
            yield {"type": "message", "id": f"msg-{at}-{number}", "role": "assistant", "content": spoken}
        else:
            arguments = json.dumps({"at": text})
            named = {"id": f"fc-{at}-{number}", "call_id": call_id, "name": "look"}
            yield {"type": "function_call", **named, "arguments": arguments}


def _results(random: Random, calls: list[tuple[str, str, int]], said: Said) -> list[dict[str, Any]]:
    random.shuffle(calls)
    found: list[dict[str, Any]] = []
    for call_id, shape, _ in calls:
        text = f"found {_filler(random)}"
        if shape == "responses":
            found.append({"type": "function_call_output", "call_id": call_id, "output": text})
        elif shape == "openai":
            found.append({"role": "tool", "tool_call_id": call_id, "content": text})
        else:
            block = {"type": "tool_result", "tool_use_id": call_id, "content": text}
            found.append({"role": "user", "content": [block]})
    return found
