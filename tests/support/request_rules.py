"""What the providers refuse in a request, by their documented rules. Source: adapters PM-2."""

import re
from collections.abc import Mapping
from typing import Any

_ID = re.compile(r"[a-zA-Z0-9_-]{1,200}\Z")
_THINKING = {"thinking", "redacted_thinking"}


def faults_of_chat(request: Mapping[str, Any]) -> list[str]:
    """Return what OpenAI chat completions refuse, and endpoints that want their ``reasoning_content`` back."""
    faults, waiting = [], set[str]()
    for at, message in enumerate(request["messages"]):
        if message["role"] == "tool":
            if message["tool_call_id"] not in waiting:
                faults.append(f"{at}: a result without its call, or a second one")
            waiting.discard(message["tool_call_id"])
            continue
        if waiting:
            faults.append(f"{at}: calls {waiting} without result")
        calls = [call["id"] for call in message.get("tool_calls", ())]
        waiting = set(calls)
        if len(waiting) != len(calls) or ("tool_calls" in message and not calls):
            faults.append(f"{at}: ids of calls {calls}")
        if message["role"] != "assistant" and (calls or "reasoning_content" in message):
            faults.append(f"{at}: calls or reasoning of the {message['role']}")
        if not message["content"] and not calls:
            faults.append(f"{at}: empty")
    return faults + ([f"calls {waiting} without result at the end"] if waiting else [])


def faults_of_responses(request: Mapping[str, Any]) -> list[str]:
    """Return what the Responses API refuses."""
    faults, waiting, known = [], dict[str, str](), set[str]()
    items = request["input"]
    for at, item in enumerate(items):
        kind = str(item.get("type", "message"))
        if kind.endswith("_call_output"):
            if waiting.pop(item["call_id"], None) != kind:
                faults.append(f"{at}: a result without its call, a second one, or one of another type")
        elif kind.endswith("_call"):
            if item["call_id"] in waiting:
                faults.append(f"{at}: id {item['call_id']} of two calls that wait")
            waiting[item["call_id"]] = f"{kind}_output"
        elif kind == "reasoning":
            after = items[at + 1] if at + 1 < len(items) else {"role": "user"}
            if after.get("role") == "user" or str(after.get("type")).endswith("_output"):
                faults.append(f"{at}: reasoning without the item that it led to")
        elif item.get("role") == "system" or not item.get("content"):
            faults.append(f"{at}: a message of the system, or empty")
        if "id" in item and item["id"] in known:
            faults.append(f"{at}: item {item['id']} twice")
        known |= {item["id"]} if "id" in item else set()
    return faults + ([f"calls {list(waiting)} without result"] if waiting else [])


def faults_of_anthropic(request: Mapping[str, Any]) -> list[str]:
    """Return what the Anthropic Messages API refuses."""
    faults, asked, ids = [], list[str](), set[str]()
    for at, message in enumerate(request["messages"]):
        if message["role"] != ("assistant" if at % 2 else "user"):
            faults.append(f"{at}: roles do not alternate, the user first")
        blocks = message["content"]
        kinds = [block["type"] for block in blocks]
        answered = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
        if sorted(answered) != sorted(asked):
            faults.append(f"{at}: calls {asked} have results {answered}")
        if kinds[: len(answered)] != ["tool_result"] * len(answered):
            faults.append(f"{at}: something before the results")
        asked = [block["id"] for block in blocks if block["type"] == "tool_use"]
        if not blocks or any(block["type"] == "text" and not block["text"].strip() for block in blocks):
            faults.append(f"{at}: empty")
        faults += [f"{at}: id {each}" for each in asked if not _ID.match(each) or each in ids]
        ids |= set(asked)
        ran = [block["id"] for block in blocks if block["type"] in {"server_tool_use", "mcp_tool_use"}]
        if ran != [block["tool_use_id"] for block in blocks if block["type"].endswith("_tool_result")]:
            faults.append(f"{at}: tools of the provider {ran} without their results")
        if kinds and kinds[-1] in _THINKING:
            faults.append(f"{at}: thinking at the end of a message")
        if _THINKING & set(kinds) and (message["role"] == "user" or kinds[0] not in _THINKING):
            faults.append(f"{at}: thinking of the user, or after something else")
        if message["role"] == "assistant" and blocks and blocks[-1].get("text", "x")[-1:].isspace():
            faults.append(f"{at}: white space at the end of an answer")
    return faults + ([f"calls {asked} without result at the end"] if asked else [])


def faults(requests: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Return what the providers refuse in *requests*, by the name of the shape."""
    rules = {"openai": faults_of_chat, "responses": faults_of_responses, "anthropic": faults_of_anthropic}
    return [f"{shape}: {fault}" for shape, request in requests.items() for fault in rules[shape](request)]
