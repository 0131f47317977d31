"""The samples: their format, the sessions they hold, and how many messages each session has."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from ledger.formats.importers import Conversation, documents, read
from ledger.session.entry_drafts import EntryDraft

SAMPLES = Path(__file__).parents[1] / "importers" / "samples"


class Case(NamedTuple):
    file: str
    format: str
    sessions: dict[str, int]

    @property
    def data(self) -> bytes:
        return (SAMPLES / self.file).read_bytes()

    @property
    def by_line(self) -> bool:
        return self.file.endswith(".jsonl")


CASES = (
    Case("openai_list.json", "openai-chat", {"file": 12}),
    Case("openai_object.json", "openai-chat", {"order-2024-05": 3}),
    Case("openai_messages.jsonl", "openai-chat", {"file": 3}),
    Case("openai_conversations.jsonl", "openai-chat", {"a": 1, "b": 2, "file": 1, "a-2": 1}),
    Case("openai_trajectories.json", "openai-chat", {"file-task-7-trial-0": 4, "file-task-7-trial-1": 1}),
    Case("openai_legacy.json", "openai-chat", {"file": 4}),
    Case("swe_commands.traj", "swe-agent", {"file": 10}),
    Case("swe_calls.traj", "swe-agent", {"file": 6}),
    Case("openhands_events.jsonl", "openhands", {"file": 11}),
    Case("bfcl_memory.jsonl", "bfcl-memory", {"garden": 3, "kitchen": 1}),
    Case("dated_sessions.jsonl", "dated-sessions", {"garden": 3, "kitchen": 1}),
    Case("claude_simple.jsonl", "claude-code", {"5d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10": 4}),
    Case("claude_tools.jsonl", "claude-code", {"5d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10": 6}),
    Case("codex_items.jsonl", "codex", {"019a0001-aaaa-7bbb-8ccc-000000000004": 5}),
    Case("gemini_simple.json", "gemini-cli", {"6a0f0001-1111-4222-8333-000000000001": 2}),
    Case("anthropic_object.json", "anthropic", {"file": 5}),
    Case("anthropic_messages.jsonl", "anthropic", {"file": 3}),
    Case("anthropic_conversations.jsonl", "anthropic", {"bench": 3, "roof": 3}),
    Case("assistants_lines.jsonl", "openai-assistants", {"thread_pump": 3}),
    Case("responses_items.jsonl", "openai-responses", {"file": 5}),
    Case("responses_response.json", "openai-responses", {"file": 4}),
    Case("responses_list.json", "openai-responses", {"file": 3}),
    Case("sharegpt_list.json", "sharegpt", {"paint": 2, "file": 3}),
    Case("sharegpt_tools.jsonl", "sharegpt", {"file": 5, "b": 3}),
    Case("sharegpt_object.json", "sharegpt", {"file": 4}),
    Case("swe_questions.traj", "swe-agent", {"file": 5}),
    Case("openhands_refused.jsonl", "openhands", {"file": 5}),
    Case("bfcl_memory_dialogue.jsonl", "bfcl-memory", {"shop": 4}),
    Case("dated_object.json", "dated-sessions", {"choir": 3}),
    Case("dated_grown.jsonl", "dated-sessions", {"boats": 2, "nets": 1, "ropes": 2}),
    Case("openhands_sdk_events.jsonl", "openhands-sdk", {"file": 11}),
    Case("openhands_sdk_list.json", "openhands-sdk", {"file": 4}),
    Case("openhands_sdk_page.json", "openhands-sdk", {"file": 2}),
    Case("openhands_runs.jsonl", "openhands", {"org__repo-1": 2, "org__repo-1-2": 1}),
)
IDS = [case.file for case in CASES]

LISTS = ("messages", "traj", "history", "conversations", "data", "items")


def conversations_of(data: bytes) -> list[Conversation]:
    return read(documents(data), name="file")


def values(case: Case) -> list[Any]:
    """Return the JSON of a sample: a value for each line, or the one it is."""
    return [json.loads(line) for line in case.data.splitlines() if line.strip()] if case.by_line else [_one(case.data)]


def written(case: Case, changed: list[Any]) -> bytes:
    """Return changed values as a file of the sample's kind."""
    if case.by_line:
        return b"\n".join(json.dumps(value).encode() for value in changed)
    return json.dumps(changed[0], indent=1).encode()


def originals(value: Any) -> Iterator[list[dict[str, Any]]]:
    """Yield the list of messages of each conversation in a document that holds whole ones."""
    if isinstance(value, list) and value and ("role" in value[0] or "kind" in value[0]):
        yield value
    elif isinstance(value, list):
        for item in value:
            yield from originals(item)
    elif value.get("object") == "response":
        yield [{"role": "system", "content": value["instructions"]}, *value["input"], *value["output"]]
    else:
        system = [{"content": value["system"]}] if "system" in value else []
        yield system + next(value[name] for name in LISTS if name in value)


def messages(case: Case) -> list[list[dict[str, Any]]]:
    """Return the original messages of each conversation of a sample."""
    found = values(case)
    if case.format == "bfcl-memory":  # the parts of a scenario are one conversation
        parts = {name: [part for part in found if part["scenario"] == name] for name in case.sessions}
        return [[texts for part in listed for turn in part["question"] for texts in turn] for listed in parts.values()]
    if case.format == "dated-sessions":
        return [[entry for session in value["sessions"] for entry in session["entries"]] for value in found]
    if case.by_line and isinstance(found[0], dict) and not any(name in found[0] for name in LISTS):
        return [found]
    return [listed for value in found for listed in originals(value)]


def leaves(value: Any) -> Iterator[Any]:
    """Yield the texts, numbers and truths in *value*; nulls and empty containers say nothing."""
    if isinstance(value, dict):
        for item in value.values():
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif value is not None:
        yield value


def leaves_of(drafts: tuple[EntryDraft, ...]) -> list[Any]:
    """Return every leaf in the entries of one message."""
    fields = ("role", "content", "data", "tool_name", "tool_call_id", "arguments", "metadata")
    return [leaf for draft in drafts for name in fields for leaf in leaves(getattr(draft, name))]


def _one(data: bytes) -> Any:
    return json.loads(data)
