"""How a window becomes messages, where a program has its own way. Source: R-002-8.

A config names a formatter by its registered name; Python code may also pass one.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Protocol

import msgspec

from ledger.canonical import canonical_json
from ledger.events import JsonObject
from projections.entries import Entry
from projections.rendering import summary_as_message
from projections.summaries import Summary


class Formatter(Protocol):
    """Turns shown items into chat messages."""

    def format_messages(self, items: Iterable[Entry | Summary]) -> list[JsonObject]:
        """Return ``[{"role", "content"}]``, in the order of *items*."""
        ...


class DefaultFormatter(msgspec.Struct, frozen=True):
    """Roles as in R-GEN-5; a result is what a user would paste; *include_metadata* puts the kind before each."""

    include_metadata: bool = False

    def format_messages(self, items: Iterable[Entry | Summary]) -> list[JsonObject]:
        """Return one message for each item."""
        return [self._message(item) for item in items]

    def format_tool_results(self, results: Mapping[str, Any]) -> str:
        """Return one ``name: result`` line for each; what is no text becomes canonical JSON."""
        return "\n".join(f"{name}: {_text(result)}" for name, result in results.items())

    def format_step_instruction(self, step_id: str, prompt: str) -> str:
        """Return what a step is told."""
        return f"[{step_id}] {prompt}"

    def format_system_prompt(self, base: str, context: str = "") -> str:
        """Return the system prompt, with what is known before the steps begin."""
        return f"{base}\n\n{context}" if context else base

    def _message(self, item: Entry | Summary) -> JsonObject:
        if isinstance(item, Summary):
            return self._as("summary", "user", summary_as_message(item))
        if item.kind == "tool_result":
            return self._as(item.kind, "user", f"{item.tool_name or 'tool'}: {item.content}")
        return self._as(item.kind, item.role, item.content)

    def _as(self, kind: str, role: str, content: str) -> JsonObject:
        return {"role": role, "content": f"[{kind}] {content}" if self.include_metadata else content}


def _text(result: Any) -> str:
    return result if isinstance(result, str) else canonical_json(result).decode()


#: Formatters by the names configs know them by; add yours before loading a config that names it.
FORMATTERS: dict[str, Formatter] = {"default": DefaultFormatter(), "labelled": DefaultFormatter(include_metadata=True)}
