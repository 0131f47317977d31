"""A summary without a model: the first and last user message, the tools used, the errors. Source: R-SUM-10."""

import re
from collections.abc import Sequence
from typing import Final

from ledger.ports import SummaryText
from projections.entries import Entry
from projections.prompts import SUMMARY_HEADER, SummaryRequest

_QUOTE: Final = 100
_SPACES: Final = re.compile(r"\s+")


class Heuristic:
    """A `ports.models.Summarizer` that reads the entries of the request and calls no model."""

    method = "heuristic"
    model: str | None = None

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        """Return the heuristic summary of the request's entries, after the summaries it continues."""
        return SummaryText(heuristic_text(request.entries, request.folded))


def heuristic_text(entries: tuple[Entry, ...], folded: Sequence[str]) -> str:
    """Return the heuristic summary of *entries*, after the summaries it continues."""
    return "\n\n".join([*folded, describe(entries)])


def describe(entries: tuple[Entry, ...]) -> str:
    """Return the heuristic summary of *entries*, oldest first."""
    user_texts = [entry.content for entry in entries if entry.starts_interaction]
    tools = list(dict.fromkeys(entry.tool_name for entry in entries if entry.kind == "tool_call"))
    errors = sum(entry.outcome == "error" for entry in entries)
    lines = [SUMMARY_HEADER, f"{len(user_texts)} user message{'' if len(user_texts) == 1 else 's'}"]
    if user_texts:
        lines.append(f'First: "{_quote(user_texts[0])}"')
    if len(user_texts) > 1:
        lines.append(f'Last: "{_quote(user_texts[-1])}"')
    if tools:
        lines.append(f"Tools used: {', '.join(str(tool) for tool in tools)}")
    if errors:
        lines.append(f"{errors} error{'' if errors == 1 else 's'} encountered")
    return "\n".join(lines)


def _quote(text: str) -> str:
    flat = _SPACES.sub(" ", text)
    return flat if len(flat) <= _QUOTE else flat[:_QUOTE] + "..."
