"""What one request has seen of the branches of a conversation, so that it looks at each of them few times."""

from collections.abc import Iterable, Reversible
from itertools import groupby

from ledger.application.handle import NamespaceHandle
from ledger.events import JsonObject
from ledger.formats.importers.elements.importer import is_imported
from ledger.formats.importers.opentelemetry.reported_calls import ReportedCall
from projections.entries import Entry


class SeenBranches:
    """Of branches: with which first entries of a request's calls each of them begins, and its newest entry.

    So a call looks only at branches that it may belong to, and not at all that unrelated calls have made.
    """

    def __init__(self, calls: Iterable[ReportedCall]) -> None:
        """Take all *calls* of the request."""
        self._firsts: dict[str, list[str]] = {}
        for session_id, group in groupby(sorted(calls, key=_session_id), _session_id):
            self._firsts[session_id] = list(dict.fromkeys(call.ids[0] for call in group if call.ids))
        self._known: dict[str, tuple[set[str], Entry | None]] = {}

    def differs(self, branch: str, call: ReportedCall) -> bool:
        """Tell whether *branch* is known to begin otherwise than *call* and to end with what that does not have."""
        if branch not in self._known:
            return False
        firsts, newest = self._known[branch]
        return call.ids[0] not in firsts and (newest is None or not may_have(call, newest))

    async def learn(self, handle: NamespaceHandle, branch: str, call: ReportedCall, newest: Entry | None) -> None:
        """Look with which calls of the request *branch* begins, which ends with *newest* and has nothing of *call*."""
        if branch not in self._known:
            firsts, stream = self._firsts.get(call.session_id, []), handle.stream(branch, None)
            self._known[branch] = (set(await handle.services.store.events.find_items(stream, firsts)), newest)

    def forget(self, branch: str) -> None:
        """Look at *branch* anew, as it has changed."""
        self._known.pop(branch, None)


def _session_id(call: ReportedCall) -> str:
    return call.session_id


def newest_imported(entries: Reversible[Entry]) -> Entry | None:
    """Return the newest of *entries* that a reported call added; None if there is none."""
    return next((each for each in reversed(entries) if is_imported(each.entry_id)), None)


def may_have(call: ReportedCall, entry: Entry) -> bool:
    """Tell whether what *call* was sent may have *entry*: a look that costs little."""
    return any(_may_be(entry, raw) for raw in call.entries[: call.sent])


def _may_be(entry: Entry, raw: JsonObject) -> bool:
    same = entry.kind == raw["kind"] and entry.tool_call_id == raw.get("tool_call_id")
    return same and entry.content[:1_000] == (raw.get("content") or entry.content)[:1_000]
