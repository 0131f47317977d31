"""The head of a summary without a model: how many messages, the first and last one, the tools, the errors. Pure.

Source: R-SUM-10.
"""

import re
from collections.abc import Iterable
from typing import Final

import msgspec

from projections.entries import Entry
from projections.prompts import SUMMARY_HEADER

_QUOTE: Final = 100
_LINE: Final = re.compile(
    r'(?P<users>\d{1,15}) user messages?|First: "(?P<first>.*)"|Last: "(?P<last>.*)"|Tools used: (?P<tools>.*)|'
    r"(?P<errors>\d{1,15}) errors? encountered"
)
#: A longer list of tools is cut, so that a summary of summaries does not grow.
_TOOLS: Final = 20


class Overview(msgspec.Struct, frozen=True):
    """What happened in a part of a conversation, in numbers and names."""

    users: int = 0
    first: str | None = None
    last: str | None = None
    tools: tuple[str, ...] = ()
    errors: int = 0

    def then(self, later: "Overview") -> "Overview":
        """Return the overview of both parts."""
        return Overview(
            self.users + later.users,
            self.first if self.first is not None else later.first,
            later.last if later.last is not None else self.last,
            tuple(dict.fromkeys((*self.tools, *later.tools))),
            self.errors + later.errors,
        )

    @property
    def lines(self) -> list[str]:
        """The overview as lines, the header first."""
        lines = [SUMMARY_HEADER, f"{self.users} user message{'' if self.users == 1 else 's'}"]
        if self.first is not None:
            lines.append(f'First: "{self.first}"')
        if self.last is not None and self.users > 1:
            lines.append(f'Last: "{self.last}"')
        if self.tools:
            named = (*self.tools[:_TOOLS], "…") if len(self.tools) > _TOOLS else self.tools
            lines.append(f"Tools used: {', '.join(named)}")
        if self.errors:
            lines.append(f"{self.errors} error{'' if self.errors == 1 else 's'} encountered")
        return lines


def overview_of(entries: Iterable[Entry]) -> Overview:
    """Return the overview of *entries*, oldest first."""
    entries = list(entries)
    quotes = [quote(entry.content) for entry in entries if entry.starts_interaction]
    tools = dict.fromkeys(str(entry.tool_name) for entry in entries if entry.kind == "tool_call")
    return Overview(
        users=len(quotes),
        first=quotes[0] if quotes else None,
        last=quotes[-1] if quotes else None,
        tools=tuple(tools),
        errors=sum(entry.outcome == "error" for entry in entries),
    )


def parted(summary: str) -> tuple[Overview, list[str]]:
    """Return the overview at the head of *summary*, empty if it has none, and its other lines."""
    lines = summary.splitlines()
    if not lines or lines[0] != SUMMARY_HEADER:
        return Overview(), lines
    found: dict[str, str] = {}
    place = 1
    for line in lines[1:]:
        match = _LINE.fullmatch(line)
        if match is None:
            break
        found.update({name: text for name, text in match.groupdict().items() if text is not None})
        place += 1
    tools = tuple(tool for tool in found.get("tools", "").split(", ") if tool and tool != "…")
    overview = Overview(
        int(found.get("users", 0)), found.get("first"), found.get("last"), tools, int(found.get("errors", 0))
    )
    return overview, lines[place:]


def quote(text: str) -> str:
    """Return *text* on one line of at most 100 characters and ``...``."""
    flat = " ".join(text.split(maxsplit=_QUOTE))
    return flat if len(flat) <= _QUOTE else flat[:_QUOTE] + "..."
