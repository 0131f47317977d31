"""Sessions that are put together from calls of models, each of which repeats the history. Source: adapters IN-3.

A call that goes on from an earlier place begins a branch ``id~n``, which has the whole history of that call. Calls
are in a temporary file until all are read, since those of one session may be anywhere; of the session that is put
together, only the ids of its entries are in memory.
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain

from ledger.events import JsonObject
from ledger.importers.base import ConversationReader, conversation
from ledger.importers.parts.prefix import branch_name, place, shared_entries
from ledger.importers.parts.reported_calls import ReportedCall, kept_whole
from ledger.importers.parts.spool import Spool
from ledger.importers.parts.steps import Noticed, hidden


def conversations_of(
    format_: str, calls: Iterable[tuple[int, ReportedCall]], notices: list[Noticed] | None = None
) -> Iterator[ConversationReader]:
    """Yield the branches of each session, in the order in which they began; *calls* are with their lines.

    All *calls* are read before the first branch is yielded, which also says what is in *notices* then.
    """
    with Spool() as spool:
        sessions: dict[str, array[int]] = {}  # places
        for line, call in calls:
            sessions.setdefault(call.session_id, array("Q")).append(spool.put((line, call)))
        for session_id, places in sessions.items():
            with Spool() as shown:
                history = _CallHistory(shown)
                for line, call in map(spool.get, places):
                    history.add(call, line)
                for number, messages in enumerate(history.branches):
                    said = chain(((notice.line, notice) for notice in notices or ()), map(shown.get, messages))
                    notices = None
                    yield conversation(format_, branch_name(session_id, number), said)


class _CallHistory:
    """The branches of a session: the place of each message in *spool*.

    There are its entries, with the line that they were first seen on.
    """

    def __init__(self, spool: Spool) -> None:
        self.branches: list[array[int]] = []
        self._spool = spool
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
        self.branches[branch].extend(self._spool.put((line, [entry])) for entry in shown)
        self._known.update(str(entry["entry_id"]) for entry in shown)
        self._add_hidden(branch, [*map(hidden, call.instructions), *call.besides, call.record], line)

    def _begin(self) -> None:
        self.branches.append(array("Q"))
        self._ids.append([])

    def _add_hidden(self, branch: int, entries: list[JsonObject], line: int) -> None:
        new = [entry for entry in entries if entry["entry_id"] not in self._known]
        self._known.update(str(entry["entry_id"]) for entry in new)
        if new:
            self.branches[branch].append(self._spool.put((line, new)))
