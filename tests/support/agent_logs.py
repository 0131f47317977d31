"""Random logs of coding agents, each with what its agent would send next: a model of each format.

What is sent is a list of texts: of a message its text, of a call its id, of a result its text, of a summary its text.
"""

import random
from collections.abc import Callable, Mapping
from typing import Any, Final

Line = dict[str, Any]
Log = tuple[list[Line], list[str]]

SESSION: Final = "cccccccc-1111-4222-8333-944455566677"


def uuid(number: int) -> str:
    return f"00000000-0000-4000-8000-{number:012d}"


def claude(number: int, parent: int | str | None, role: str, text: str, **more: Any) -> Line:
    content: Any = text if role == "user" else [{"type": "text", "text": text}]
    message = {"role": role, "content": content, **({"id": f"msg_{number}"} if role == "assistant" else {})}
    return {
        "type": role,
        "uuid": uuid(number),
        "parentUuid": uuid(parent) if isinstance(parent, int) else parent,
        "sessionId": SESSION,
        "timestamp": f"2026-05-01T10:{number % 60:02d}:00.000Z",
        "message": message,
        **more,
    }


def boundary(number: int, **metadata: Any) -> Line:
    return {
        "type": "system",
        "subtype": "compact_boundary",
        "uuid": uuid(number),
        "parentUuid": None,
        "sessionId": SESSION,
        "timestamp": f"2026-05-01T10:{number % 60:02d}:00.000Z",
        "content": "Conversation compacted",
        "compactMetadata": {"trigger": "auto", **metadata},
    }


def summary(number: int, parent: int, text: str) -> Line:
    return claude(number, parent, "user", text, isCompactSummary=True)


class _Claude:
    """A log of Claude Code; *window* has units that stay or leave together, each with the numbers of its lines."""

    def __init__(self, chance: random.Random) -> None:
        self.lines: list[Line] = []
        self.window: list[tuple[list[int], list[str], bool]] = []  # lines, texts, whether it is a prompt
        self._chance = chance
        self._number = 0
        self._tip: int | None = None

    def say(self) -> None:
        number = self._next()
        role = "user" if self._chance.random() < 0.5 or not self.window else "assistant"
        self.lines.append(claude(number, self._tip, role, f"message {number}"))
        self.window.append(([number], [f"message {number}"], role == "user"))
        self._tip = number

    def call(self) -> None:
        """An answer that thinks and calls one or two tools, and their results, each after its own call."""
        numbers, texts, first = [], [], self._next()
        thought = [{"type": "thinking", "thinking": "hm", "signature": "s"}]
        self._add(first, self._tip, "assistant", thought, f"msg_{first}")
        calls = [self._next() for _ in range(self._chance.randint(1, 2))]
        for at, number in enumerate(calls):
            used = [{"type": "tool_use", "id": f"call {number}", "name": "look", "input": {"at": number}}]
            self._add(number, calls[at - 1] if at else first, "assistant", used, f"msg_{first}")
            texts.append(f"call {number}")
        for asked in calls:
            number = self._next()
            result = [{"type": "tool_result", "tool_use_id": f"call {asked}", "content": f"result {number}"}]
            self._add(number, asked, "user", result)
            texts.append(f"result {number}")
            numbers.append(number)
            self._tip = number
        self.window.append(([first, *calls, *numbers], texts, False))

    def compact(self) -> None:
        kept = [unit for unit in self.window if unit[0]]
        kept = kept[len(kept) - self._chance.randint(0, len(kept)) :]
        number, about = self._next(), dict[str, Any]()
        written = self._next()
        if kept and self._chance.random() < 0.5:
            head, tail = uuid(kept[0][0][0]), uuid(kept[-1][0][-1])
            about = {"preservedSegment": {"headUuid": head, "anchorUuid": uuid(written), "tailUuid": tail}}
        elif kept:
            kept = sorted(self._chance.sample(kept, self._chance.randint(1, len(kept))), key=kept.index)
            named = [uuid(line) for lines, _, _ in kept for line in lines]
            about = {"preservedMessages": {"anchorUuid": uuid(written), "uuids": named}}
        self.lines += [boundary(number, **about), summary(written, number, f"summary {number}")]
        self._tip = self._chance.choice([kept[-1][0][-1], written]) if kept else written
        self.window = [([], [f"summary {number}"], False), *kept]

    def rewind(self) -> None:
        """A prompt that follows an earlier unit than the newest prompt."""
        newest = max((at for at, (_, _, is_prompt) in enumerate(self.window) if is_prompt), default=0)
        places = [at for at, (lines, _, _) in enumerate(self.window[:newest]) if lines]
        if places:
            place = self._chance.choice(places)
            self.window = self.window[: place + 1]
            number = self._next()
            self.lines.append(claude(number, self.window[-1][0][-1], "user", f"message {number}"))
            self.window.append(([number], [f"message {number}"], True))
            self._tip = number

    def _next(self) -> int:
        self._number += 1
        return self._number

    def _add(self, number: int, parent: int | None, role: str, content: list[Line], answer: str | None = None) -> None:
        message = {"role": role, "content": content, **({"id": answer} if answer else {})}
        self.lines.append(claude(number, parent, role, "", message=message))


def claude_log(chance: random.Random) -> Log:
    """Return a log with tools, compactions that keep all, some or no messages, and rewinds."""
    log = _Claude(chance)
    for _ in range(chance.randint(3, 25)):
        step = chance.choices([log.say, log.call, log.compact, log.rewind], [5, 2, 1, 1])[0]
        (step if log.window else log.say)()
    return log.lines, [text for _, texts, _ in log.window for text in texts]


def item(role: str, text: str) -> Line:
    kind = "output_text" if role == "assistant" else "input_text"
    return {"type": "message", "role": role, "content": [{"type": kind, "text": text}]}


def rollout(*payloads: tuple[str, Any]) -> list[Line]:
    first = ("session_meta", {"id": SESSION, "timestamp": "2026-06-01T09:00:00Z"})
    return [
        {"timestamp": f"2026-06-01T09:{at % 60:02d}:00.000Z", "type": kind, "payload": payload}
        for at, (kind, payload) in enumerate([first, *payloads])
    ]


def _tool_items(name: str) -> tuple[Line, Line]:
    called = {"type": "function_call", "name": "look", "arguments": "{}", "call_id": f"call {name}"}
    return called, {"type": "function_call_output", "call_id": f"call {name}", "output": f"result {name}"}


def codex_log(chance: random.Random) -> Log:
    """Return a log with tools, reasoning, histories in the place of others, opaque items, and turns taken back."""
    payloads: list[tuple[str, Any]] = []
    window: list[tuple[bool, str]] = []  # whether it is a message of the user, and what is sent

    def items(name: str) -> list[tuple[Line, list[tuple[bool, str]]]]:
        kind = chance.choice(["message", "message", "tool", "reasoning", "opaque"])
        if kind == "tool":
            called, result = _tool_items(name)
            return [(called, [(False, f"call {name}")]), (result, [(False, f"result {name}")])]
        if kind == "reasoning":
            return [({"type": "reasoning", "summary": [], "encrypted_content": "gAAA"}, [])]
        if kind == "opaque":
            return [({"type": "compaction", "encrypted_content": "gAAA"}, [(False, "[compaction]")])]
        role = chance.choice(["user", "assistant", "developer"])
        return [(item(role, f"message {name}"), [(role == "user", f"message {name}")])]

    for number in range(chance.randint(3, 30)):
        choice = chance.random()
        users = [at for at, (is_user, _) in enumerate(window) if is_user]
        if choice < 0.1:
            history = [each for at in range(number % 5) for each in items(f"{number}.{at}")]
            window = [shown for _, parts in history for shown in parts]
            payloads.append(("compacted", {"message": "x", "replacement_history": [one for one, _ in history]}))
        elif choice < 0.2 and users:
            turns = chance.randint(1, 3)
            window = window[: users[max(len(users) - turns, 0)]]
            payloads.append(("event_msg", {"type": "thread_rolled_back", "num_turns": turns}))
        else:
            for one, parts in items(str(number)):
                payloads.append(("response_item", one))
                window += parts
    return rollout(*payloads), [text for _, text in window]


def openhands_log(chance: random.Random) -> Log:
    """Return events with commands and their observations, and condensations of any of them, with summaries or not."""
    lines: list[Line] = []
    window: list[tuple[list[int], list[str]]] = []  # units: events, and what is sent; a summary has no event
    number = 0
    for _ in range(chance.randint(3, 25)):
        number += 1
        event = {"id": number, "timestamp": "2026-05-01T10:00:00"}
        choice, real = chance.random(), [unit for unit in window if unit[0]]
        if choice < 0.15 and real:
            start = chance.randrange(len(real))
            gone = real[start : start + chance.randint(1, 4)]
            text = f"summary {number}" if chance.random() < 0.7 else None
            ids = [each for events, _ in gone for each in events]
            kept = [unit for unit in real if unit not in gone]
            place = chance.randint(0, len(kept))
            offset = sum(len(events) for events, _ in kept[:place])
            args: dict[str, Any] = {"forgotten_event_ids": ids, "summary": text, "summary_offset": offset}
            if chance.random() < 0.5:
                del args["forgotten_event_ids"]
                args |= {"forgotten_events_start_id": ids[0], "forgotten_events_end_id": ids[-1]}
            lines.append({**event, "source": "agent", "action": "condensation", "args": args})
            if text is None:
                window = [unit for unit in window if unit not in gone]
            else:  # the newest summary stands at a place among the events that are left
                window = [*kept[:place], ([], [text]), *kept[place:]]
        elif choice < 0.2:
            state = {"observation": "agent_state_changed", "content": "", "extras": {"agent_state": "running"}}
            lines.append({**event, "source": "environment", **state})
        elif choice < 0.45:
            metadata = {"tool_call_id": f"call {number}", "function_name": "look"}
            ran = {"action": "run", "source": "agent", "args": {"command": "ls"}, "tool_call_metadata": metadata}
            lines.append({**event, **ran})
            seen = {"observation": "run", "source": "agent", "cause": number, "content": f"result {number}"}
            lines.append({**event, "id": number + 1, **seen, "tool_call_metadata": metadata})
            window.append(([number, number + 1], [f"call {number}", f"result {number}"]))
            number += 1
        else:
            source = chance.choice(["user", "agent"])
            said = {"action": "message", "source": source, "args": {"content": f"message {number}"}}
            lines.append({**event, **said})
            window.append(([number], [f"message {number}"]))
    return lines, [text for _, texts in window for text in texts]


def gemini(number: int, text: str, kind: str, *, calls: bool = False) -> Line:
    made = [
        {
            "id": f"call {number}",
            "name": "look",
            "args": {"at": number},
            "status": "success",
            "result": [{"functionResponse": {"response": {"output": f"result {number}"}}}],
        }
    ]
    about = {"toolCalls": made, "thoughts": [{"subject": "hm"}]} if calls else {}
    return {"id": f"m{number}", "timestamp": "2026-05-01T10:00:00Z", "type": kind, "content": text, **about}


def _sent_of(record: Line) -> list[str]:
    number = str(record["id"])[1:]
    return [record["content"], *([f"call {number}", f"result {number}"] if "toolCalls" in record else [])]


def gemini_log(chance: random.Random) -> Log:
    """Return records with tools and thoughts, rewinds, and histories that were written anew."""
    lines: list[Line] = [{"sessionId": SESSION, "projectHash": "p", "startTime": "2026-05-01T10:00:00Z"}]
    window: list[Line] = []
    for number in range(1, chance.randint(4, 25)):
        choice = chance.random()
        if choice < 0.1 and window:
            place = chance.randrange(len(window))
            lines.append({"$rewindTo": window[place]["id"]})
            window = window[:place]
        elif choice < 0.25 and window:
            start = chance.randrange(len(window))
            window = [*window[:start], *chance.sample(window[start:], chance.randint(0, len(window) - start))]
            window.insert(start, gemini(1_000 + number, f"summary {number}", "user"))
            if chance.random() < 0.5:
                window[-1] = {**window[-1], "content": f"masked {number}"}
            lines.append({"$set": {"messages": list(window)}})
        else:
            kind = chance.choice(["user", "gemini"])
            calls = kind == "gemini" and chance.random() < 0.5
            window.append(gemini(number, f"message {number}", kind, calls=calls))
            lines.append(window[-1])
    return lines, [text for record in window for text in _sent_of(record)]


def openhands_sdk_log(chance: random.Random) -> Log:
    """Return events of the agent SDK with calls and results, and condensations, mostly of earlier summaries too."""
    lines: list[Line] = []
    window: list[tuple[list[str], list[str]]] = []  # units: ids and what is sent; a summary has an id of its own
    number = 0

    def add(kind: str, **fields: Any) -> str:
        nonlocal number
        number += 1
        lines.append(
            {"id": f"e{number}", "timestamp": "2026-05-01T10:00:00", "kind": kind, "source": "agent", **fields}
        )
        return f"e{number}"

    for _ in range(chance.randint(3, 25)):
        choice = chance.random()
        if choice < 0.15 and window:
            start = chance.randrange(len(window))
            gone = window[start : start + chance.randint(1, 4)]
            gone += [each for each in window if each[0][0].endswith("-summary") and each not in gone]
            window = [each for each in window if each not in gone]
            text = f"summary {number}" if chance.random() < 0.7 else None
            place = chance.randint(0, len(window))
            event_id = add(
                "Condensation",
                forgotten_event_ids=[event_id for ids, _ in gone for event_id in ids],
                summary=text,
                summary_offset=sum(len(ids) for ids, _ in window[:place]),
            )
            if text is not None:
                window.insert(place, ([f"{event_id}-summary"], [text]))
        elif choice < 0.25:
            add(chance.choice(["PauseEvent", "ConversationStateUpdateEvent", "CondensationRequest"]))
        elif choice < 0.45:
            about = {"tool_name": "look", "tool_call_id": f"call {number}"}
            call = {"id": f"call {number}", "name": "look", "arguments": "{}"}
            seen = {"content": [{"type": "text", "text": f"result {number}"}], "is_error": False}
            texts = [f"call {number}", f"result {number}"]
            action = add("ActionEvent", thought=[], tool_call=call, **about)
            window.append(([action, add("ObservationEvent", observation=seen, **about)], texts))
        else:
            role, text = chance.choice(["user", "assistant"]), f"message {number}"
            said = {"role": role, "content": [{"type": "text", "text": text}]}
            window.append(([add("MessageEvent", llm_message=said)], [text]))
    return lines, [text for _, texts in window for text in texts]


FORMATS: Final[Mapping[str, Callable[[random.Random], Log]]] = {
    "claude-code": claude_log,
    "codex": codex_log,
    "openhands": openhands_log,
    "openhands-sdk": openhands_sdk_log,
    "gemini": gemini_log,
}
