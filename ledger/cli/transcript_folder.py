"""Import of whole folders of transcripts, and of files that are still written to."""

import errno
import os
import stat
from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Final, NamedTuple

import anyio

from ledger.errors import ImportRefused, InvalidInput, LedgerError, Unavailable
from ledger.formats.export.importing import Imported, ImportNote
from ledger.formats.importers import session_name_of

#: The endings of files that may be transcripts or exports, each also with ``.gz``.
ENDINGS: Final = (".json", ".jsonl", ".ndjson", ".traj")
#: Faults that say that a file is something else, such as a program's settings.
_NO_TRANSCRIPTS: Final = frozenset({"unknown_format", "empty_file"})
_SECONDS: Final = 2.0

#: Imports the file with a path, for sessions with a name.
ImportFile = Callable[[str, str], Awaitable[Imported]]
Report = Callable[[list[Imported], list[ImportNote], dict[str, LedgerError]], None]


class Found(NamedTuple):
    """A file to import, and the name for sessions that have none."""

    path: Path
    name: str


class FolderImport:
    """Imports the files in folders, one transaction for each; a bad file does not stop the others."""

    def __init__(self, places: Sequence[str], import_file: ImportFile) -> None:
        self._places = places
        self._import_file = import_file
        self._seen: dict[Path, tuple[int, int, int]] = {}
        self._unreadable: dict[str, LedgerError] = {}
        self.imported: list[Imported] = []
        self.notes: list[ImportNote] = []  # each once, although every import of a file has all of them
        self.failed: dict[str, LedgerError] = {}
        self.others: set[str] = set()
        self.files = 0

    async def once(self, progress: Callable[[int, int], None]) -> list[Imported]:
        """Import the files that are new or changed since the last time, and return what was recorded.

        *progress* gets (files done, all files).

        Raises:
            Unavailable: the database cannot be reached.
        """
        for path in self._unreadable:
            self.failed.pop(path, None)
        self._unreadable.clear()
        changed = [found for found in self._files() if self._seen.get(found.path) != _stamp(found.path)]
        self.failed.update(self._unreadable)
        done: list[Imported] = []
        try:
            for number, found in enumerate(changed):
                progress(number, len(changed))
                stamp = _stamp(found.path)
                imported = await self._import(found)
                self._seen[found.path] = stamp
                if imported is not None:
                    done.append(imported)
            progress(len(changed), len(changed))
        finally:  # what was recorded before an interruption is told, too
            self.files = len(self._seen)
            self.imported += done
            self.notes = list(dict.fromkeys([*self.notes, *(note for one in done for note in one.notes)]))
        return done

    async def watch(self, report: Report) -> None:
        """Import what comes, looking every two seconds, until cancelled.

        *report* gets what was recorded, and the notes and faults that are new, the latter by file.
        """
        while True:
            await anyio.sleep(_SECONDS)
            before = {path: str(fault) for path, fault in self.failed.items()}
            known = len(self.notes)
            done = await self.once(lambda done, total: None)
            failed = {path: fault for path, fault in self.failed.items() if before.get(path) != str(fault)}
            report(done, self.notes[known:], failed)

    def totals(self) -> tuple[Counter[str], Counter[str], list[str]]:
        """Return the numbers of sessions, entries and skipped entries; other lines by type; and the sessions."""
        counts: Counter[str] = Counter()
        lines: Counter[str] = Counter()
        for imported in self.imported:
            counts.update(sessions=imported.sessions, entries=imported.entries, skipped=imported.skipped)
            lines.update(imported.other_lines)
        return counts, lines, list(dict.fromkeys(name for one in self.imported for name in one.session_ids))

    async def _import(self, found: Found) -> Imported | None:
        path, fault, imported = str(found.path), None, None
        try:
            imported = await self._import_file(path, found.name)
        except Unavailable:
            raise
        except LedgerError as raised:
            fault = raised
        self.others.discard(path)
        if isinstance(fault, ImportRefused) and fault.code in _NO_TRANSCRIPTS:
            self.others.add(path)
            fault = None
        if fault is None:
            self.failed.pop(path, None)
        else:
            self.failed[path] = fault
        return imported

    def _files(self) -> Iterable[Found]:
        """Return the files, each once: a link is no other file."""
        files: dict[str, Found] = {}
        for place in self._places:
            if os.path.isdir(place):  # noqa: PTH112 - the paths of `os.walk`
                found = files_in(Path(place), self._note_unreadable)
            else:
                found = [Found(Path(place), session_name_of(place))]
            for each in found:
                files.setdefault(os.path.realpath(each.path), each)
        return files.values()

    def _note_unreadable(self, fault: OSError) -> None:
        path, reason = str(fault.filename), os.strerror(fault.errno or 0)
        self._unreadable[path] = InvalidInput("no_file", f"cannot be read: {reason}", field=path)


def files_in(folder: Path, unreadable: Callable[[OSError], None]) -> list[Found]:
    """Return the files in *folder*, and below, that may be transcripts, by path.

    The names have the folders in them, so that files of several projects do not get the same. A link to a folder
    elsewhere is followed, each folder once. *unreadable* gets the fault of a folder that cannot be listed.
    """
    found = []
    here = os.path.realpath(folder)
    seen = {here}

    def is_new(path: str) -> bool:
        real = os.path.realpath(path)
        if real in seen or (os.path.islink(path) and os.path.commonpath([here, real]) == here):  # noqa: PTH114
            return False
        seen.add(real)
        return True

    for root, folders, names in os.walk(folder, onerror=unreadable, followlinks=True):
        folders[:] = [name for name in sorted(folders) if is_new(f"{root}/{name}")]
        for name in sorted(names):
            path = Path(root, name)
            if name.lower().removesuffix(".gz").endswith(ENDINGS) and _is_file(path, unreadable):
                parts = path.relative_to(folder).parts
                found.append(Found(path, session_name_of(":".join(parts))))
    return found


def _is_file(path: Path, unreadable: Callable[[OSError], None]) -> bool:
    """Tell whether *path* is a file; a link to nothing is none. *unreadable* gets why that cannot be seen."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except OSError as fault:
        if fault.errno not in {errno.ENOENT, errno.ELOOP}:
            unreadable(fault)
        return False


def _stamp(path: Path) -> tuple[int, int, int]:
    """Return what changes when a file is written to, or who may read it; zeros if it is not there.

    So a file that is not there is tried and reported, and one that was locked is tried again once it may be read.
    """
    try:
        status = path.stat()
    except OSError:
        return 0, 0, 0
    return status.st_size, status.st_mtime_ns, status.st_ctime_ns
