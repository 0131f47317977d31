"""Sessions that are put together from calls of models, each of which repeats the history. Source: adapters IN-3.

A call that goes on from an earlier place begins a branch ``id~n``, which has the whole history of that call. Calls
are in a temporary file until all are read, since those of one session may be anywhere; of the session that is put
together, only the ids of its entries are in memory.
"""

from array import array
from collections.abc import Iterable, Iterator
from itertools import chain

from ledger.events import JsonObject
from ledger.formats.importers.elements.importer import ConversationReader, conversation
from ledger.formats.importers.elements.prefix import SharedBranch, branch_name, place, shared_entries
from ledger.formats.importers.elements.spool import Spool
from ledger.formats.importers.elements.steps import Noticed, Replaced, hidden
from ledger.formats.importers.elements.trimmed import began, content_of, goes_on, remaining_places, repeated_id
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall, stored_whole


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
                history = _CallHistory(session_id, shown)
                for line, call in map(spool.get, places):
                    history.add(call, line)
                for number, branch in enumerate(history.branches):
                    lines = chain(((notice.line, notice) for notice in notices or ()), map(shown.get, branch.steps))
                    notices = None
                    yield conversation(format_, branch_name(session_id, number), lines)


class _Branch:
    """The steps of a branch by their places, and the entries in its window: id and content.

    *lineages* has the ids of the entries that its calls showed, anew from each call that left messages out: only the
    last is gone on with. *instructions_before* has the contents of the instructions.
    """

    def __init__(self) -> None:
        self.steps: array[int] = array("Q")
        self.window: list[tuple[str, bytes]] = []
        self.lineages: list[list[str]] = [[]]
        self.instructions_before: list[bytes] = []


class _CallHistory:
    """The branches of a session. In *spool* are the steps, with the line that they were first seen on."""

    def __init__(self, session_id: str, spool: Spool) -> None:
        self.branches: list[_Branch] = []
        self._session_id = session_id
        self._spool = spool
        self._known: set[str] = set()

    def add(self, call: ReportedCall, line: int) -> None:
        """Add what is new of *call*."""
        goes = place(len(call.ids), [_shared(call, branch) for branch in self.branches]) if call.ids else None
        if goes is not None and (goes.forks or goes.branch is None):
            instructions = content_of(call.instructions[0]) if call.instructions else None
            sent = [content_of(entry) for entry in call.entries[: call.sent]]
            for branch in self.branches if not call.of_agent else ():
                if goes_on([content for _, content in branch.window], sent, branch.instructions_before, instructions):
                    self._replace(branch, call, line)
                    return
        if goes is None or (goes.forks and call.of_agent):  # it repeats what its calls of models show
            if not self.branches:
                self.branches.append(_Branch())
            self._add_hidden(self.branches[0], [*call.besides, stored_whole(call)], line)
            return
        first = goes.first
        if goes.branch is None or goes.forks:
            if self.branches:
                name = branch_name(self._session_id, len(self.branches))
                note = began(name, call.ids[0], call.moment, shares=goes.first > 0, line=line)
                self._add_hidden(self.branches[0], [note], line)
            self.branches.append(_Branch())
            branch, first = self.branches[-1], 0
        else:
            branch = self.branches[goes.branch]
        branch.lineages[-1] += call.ids[first:]
        self._show(branch, call.entries[first:] if first else (*call.instructions, *call.entries), line)
        if not first:
            branch.instructions_before = [content_of(entry) for entry in call.instructions]
        self._add_hidden(branch, [*map(hidden, call.instructions), *call.besides, call.record], line)

    def _replace(self, branch: _Branch, call: ReportedCall, line: int) -> None:
        """Make the window of *branch* what *call*, which left messages out, was sent, and its answer."""
        sent = (*call.instructions, *call.entries)
        places = remaining_places([content for _, content in branch.window], [content_of(entry) for entry in sent])
        branch.window = [branch.window[at] for at in places]
        branch.steps.append(self._spool.put((line, Replaced(frozenset(name for name, _ in branch.window)))))
        branch.lineages.append(list(call.ids))
        branch.instructions_before = [content_of(entry) for entry in call.instructions]
        record = str(call.record["entry_id"])
        again = [
            {**entry, "entry_id": repeated_id(name, record)}
            if (name := str(entry["entry_id"])) in self._known
            else entry
            for entry in sent[len(places) :]
        ]
        self._show(branch, again, line)
        self._add_hidden(branch, [*map(hidden, call.instructions), *call.besides, call.record], line)

    def _show(self, branch: _Branch, entries: Iterable[JsonObject], line: int) -> None:
        for entry in entries:
            branch.steps.append(self._spool.put((line, [entry])))
            branch.window.append((str(entry["entry_id"]), content_of(entry)))
            self._known.add(str(entry["entry_id"]))

    def _add_hidden(self, branch: _Branch, entries: list[JsonObject], line: int) -> None:
        new = [entry for entry in entries if entry["entry_id"] not in self._known]
        self._known.update(str(entry["entry_id"]) for entry in new)
        if new:
            branch.steps.append(self._spool.put((line, new)))


def _shared(call: ReportedCall, branch: _Branch) -> SharedBranch:
    """Return what *branch* has of *call*; of a lineage that was left, it does not end where the call goes on."""
    *left, newest = branch.lineages
    found = shared_entries(call.ids, newest)
    before = max((shared_entries(call.ids, ids).shared for ids in left), default=0)
    return found if found.shared >= before else SharedBranch(before, ends=False)
