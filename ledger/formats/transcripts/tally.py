"""What the import of transcripts counts, and what it has to say of their windows."""

from collections import Counter
from collections.abc import Iterable, Iterator

from ledger.formats.export.importing import ImportNote
from ledger.formats.importers.elements.steps import NOTE, Noticed
from ledger.session.entry_drafts import EntryDraft


class Tally:
    """What a transaction writes: entries by session, lines that are no messages by type, and forks."""

    def __init__(self) -> None:
        self.entries: Counter[str] = Counter()
        self.other_lines: Counter[str] = Counter()
        self.forks: list[str] = []
        self.notes: list[ImportNote] = []

    def clear(self) -> None:
        """Forget everything."""
        self.entries.clear()
        self.other_lines.clear()
        self.forks.clear()
        self.notes.clear()


def read_notes(notes: list[ImportNote], session_id: str, drafts: Iterable[EntryDraft]) -> Iterator[EntryDraft]:
    """Yield *drafts*, and add to *notes* what they say of the window."""
    for draft in drafts:
        found = (draft.metadata or {}).get(NOTE)
        if found is not None:
            notes.append(ImportNote(session_id=session_id, **found))
        yield draft


def noticed(step: Noticed, session_id: str) -> ImportNote:
    """Return what *step* says of *session_id* as a note."""
    return ImportNote(session_id=session_id, line=step.line, kind=step.kind, text=step.text)
