"""Formatters: other ways to turn a window into messages. Source: R-002-8.

A config gives the registered name of a formatter; Python code may also pass a formatter.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec

from ledger.events import JsonObject
from ledger.events.canonical import canonical_json
from projections.entries import Entry
from projections.prompts import marked
from projections.rendering import message_of, summary_as_message
from projections.summaries import Summary


class Formatter(Protocol):
    """Turns shown items into chat messages."""

    def format_messages(self, items: Iterable[Entry | Summary]) -> list[JsonObject]:
        """Return ``[{"role", "content"}]``, in the order of *items*."""
        ...


class DefaultFormatter(msgspec.Struct, frozen=True):
    """Keeps the role of each entry; a tool result becomes a user message; *include_metadata* adds the kind in front."""

    include_metadata: bool = False

    def format_messages(self, items: Iterable[Entry | Summary]) -> list[JsonObject]:
        """Return one message for each item."""
        return [self._message(item) for item in items]

    def format_tool_results(self, results: Mapping[str, Any]) -> str:
        """Return one ``name: result`` line for each result, as canonical JSON if it is not text."""
        return "\n".join(f"{name}: {_text(result)}" for name, result in results.items())

    def format_step_instruction(self, step_id: str, prompt: str) -> str:
        """Return the instruction of a step."""
        return f"[{step_id}] {prompt}"

    def format_system_prompt(self, base: str, context: str = "") -> str:
        """Return the system prompt, followed by the *context* of the steps, which is marked as data."""
        return f"{base}\n\n{marked(context)}" if context else base

    def _message(self, item: Entry | Summary) -> JsonObject:
        if isinstance(item, Summary):
            return self._as("summary", "user", summary_as_message(item))
        if item.kind == "tool_result":
            return self._as(item.kind, "user", marked(f"{item.tool_name or 'tool'}: {item.content}"))
        message = message_of(item)
        return self._as(item.kind, message["role"], message["content"])

    def _as(self, kind: str, role: str, content: str) -> JsonObject:
        return {"role": role, "content": f"[{kind}] {content}" if self.include_metadata else content}


def _text(result: Any) -> str:
    return result if isinstance(result, str) else canonical_json(result).decode()


#: Formatters by their names in configs; add yours before a config that names it is loaded.
FORMATTERS: dict[str, Formatter] = {"default": DefaultFormatter(), "labelled": DefaultFormatter(include_metadata=True)}
