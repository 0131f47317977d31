"""What leaves the window with an entry that a caller removes: the rest of its answer. Source: R-GEN-8."""

from collections.abc import Iterable

from ledger.application.handle import NamespaceHandle
from ledger.errors import EntryNotFound
from ledger.session.commands import Command, RemoveEntry
from ledger.session.state import SessionState
from ledger.session.views import answer_with_entry
from projections.entries import Entry


def whole_removals(handle: NamespaceHandle, state: SessionState, entry_ids: Iterable[str]) -> list[Command]:
    """Return the commands, of one write, that remove active entries of *state*, each with the rest of its answer.

    Raises:
        EntryNotFound: the window has no such entry.
    """
    leaving: dict[int, Entry] = {}
    for entry_id in entry_ids:
        entry = state.window.newest(entry_id)
        if entry is None:
            raise EntryNotFound(entry_id)
        if entry.version not in leaving:
            leaving.update((each.version, each) for each in answer_with_entry(state, entry))
    write_id = handle.services.clock.ulid()
    return [RemoveEntry(write_id, leaving[version].entry_id) for version in sorted(leaving)]
