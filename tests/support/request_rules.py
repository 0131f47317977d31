"""What the providers refuse in a request, by their documented rules. Source: adapters §8."""

import re
from itertools import pairwise
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_-]+\Z")


def faults_of_chat(request: dict[str, Any]) -> list[str]:
    """Return what OpenAI chat completions refuse."""
    faults, open_calls = [], set[str]()
    for at, message in enumerate(request["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in open_calls:
                faults.append(f"{at}: a result without its call")
            open_calls.discard(message["tool_call_id"])
            continue
        if open_calls:
            faults.append(f"{at}: calls without result")
        open_calls = {call["id"] for call in message.get("tool_calls", ())}
        if not message["content"] and not open_calls:
            faults.append(f"{at}: empty")
    return faults + (["calls without result at the end"] if open_calls else [])


def faults_of_responses(request: dict[str, Any]) -> list[str]:
    """Return what the Responses API refuses."""
    calls = [item["call_id"] for item in request["input"] if item.get("type", "").endswith("_call")]
    results = [item["call_id"] for item in request["input"] if item.get("type", "").endswith("_call_output")]
    faults = [] if sorted(calls) == sorted(results) else ["calls and results differ"]
    for item, following in pairwise([*request["input"], {}]):
        if item.get("type") == "reasoning" and following.get("role", "user") == "user" and not following.get("type"):
            faults.append("reasoning without the item that it led to")
        if item.get("role") == "system":
            faults.append("a system message that is not in the instructions")
    return faults


def faults_of_anthropic(request: dict[str, Any]) -> list[str]:
    """Return what the Anthropic Messages API refuses."""
    faults, asked, ids = [], set[str](), set[str]()
    for at, message in enumerate(request["messages"]):
        if message["role"] != ("assistant" if at % 2 else "user"):
            faults.append(f"{at}: roles do not alternate, the user first")
        blocks = message["content"]
        kinds = [block["type"] for block in blocks]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(asked):
            faults.append(f"{at}: calls {asked} have results {answered}")
        if "tool_result" in kinds and kinds[: len(answered)] != ["tool_result"] * len(answered):
            faults.append(f"{at}: something before the results")
        asked = {block["id"] for block in blocks if block["type"] == "tool_use"}
        if not blocks or any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            faults.append(f"{at}: empty")
        faults += [f"{at}: id {each}" for each in asked if not _ID.match(each) or each in ids]
        ids |= asked
    return faults + (["calls without result at the end"] if asked else [])
