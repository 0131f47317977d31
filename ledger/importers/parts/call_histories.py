"""Sessions that are put together from calls of models, each of which repeats the history. Source: adapters IN-3.

A call that goes on from an earlier place begins a branch ``id~n``, which has the whole history of that call.
"""

from collections.abc import Iterable, Iterator

from ledger.events import JsonObject
from ledger.importers.base import ConversationReader, conversation
from ledger.importers.parts.prefix import branch_name, place, shared_entries
from ledger.importers.parts.reported_calls import ReportedCall, kept_whole
from ledger.importers.parts.steps import hidden


def conversations_of(format_: str, calls: Iterable[tuple[int, ReportedCall]]) -> Iterator[ConversationReader]:
    """Yield the branches of each session, in the order in which they began; *calls* are with their lines."""
    sessions: dict[str, _CallHistory] = {}
    for line, call in calls:
        sessions.setdefault(call.session_id, _CallHistory()).add(call, line)
    for session_id, history in sessions.items():
        for number, messages in enumerate(history.branches):
            yield conversation(format_, branch_name(session_id, number), messages)


class _CallHistory:
    """The branches of a session: the entries of each with the lines that they were first seen on."""

    def __init__(self) -> None:
        self.branches: list[list[tuple[int, list[JsonObject]]]] = []
        self._ids: list[list[str]] = []
        self._known: set[str] = set()

    def add(self, call: ReportedCall, line: int) -> None:
        """Add what is new of *call*."""
        goes = place(len(call.ids), [shared_entries(call.ids, ids) for ids in self._ids]) if call.ids else None
        if goes is None or (goes.forks and call.of_agent):  # it repeats what its calls of models show
            if not self.branches:
                self._begin()
            self._add_hidden(0, [*call.besides, kept_whole(call)], line)
            return
        begins = goes.branch is None or goes.forks
        branch, first = (len(self._ids), 0) if begins else (goes.branch or 0, goes.first)
        if branch == len(self._ids):
            self._begin()
        shown = call.entries[first:] if first else (*call.instructions, *call.entries)
        self._ids[branch] += call.ids[first:]
        self.branches[branch].extend((line, [entry]) for entry in shown)
        self._known.update(str(entry["entry_id"]) for entry in shown)
        self._add_hidden(branch, [*map(hidden, call.instructions), *call.besides, call.record], line)

    def _begin(self) -> None:
        self.branches.append([])
        self._ids.append([])

    def _add_hidden(self, branch: int, entries: list[JsonObject], line: int) -> None:
        new = [entry for entry in entries if entry["entry_id"] not in self._known]
        self._known.update(str(entry["entry_id"]) for entry in new)
        if new:
            self.branches[branch].append((line, new))
