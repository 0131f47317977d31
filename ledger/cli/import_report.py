"""What the command ``import`` says of files that were imported, and of those that could not be."""

import shlex
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import msgspec

from ledger.cli.app import Options
from ledger.cli.file_source import in_file
from ledger.cli.output import Output, counted, safe
from ledger.cli.transcript_folder import FolderImport
from ledger.errors import ImportRefused, InvalidInput, LedgerError, SessionExists
from ledger.formats.export.importing import Imported, ImportNote
from ledger.formats.importers.elements.steps import (
    GUESSED,
    LEFT_OUT,
    NO_CALL,
    NO_CONTENT,
    NO_RESULT,
    NOT_UNDERSTOOD,
    REWIND,
    UNKNOWN,
)


def show_end(output: Output, folders: FolderImport) -> None:
    """Say what was recorded until watching was interrupted, and which files were not."""
    counts, _, _ = folders.totals()
    output.say(f"\nstopped; {counted(counts['entries'], 'entry')} recorded")
    for message in _failures(folders.failed).values():
        output.say(f"not imported: {message}", "yellow")


def show_folders(opts: Options, folders: FolderImport, user: str | None) -> None:
    """Say what was imported from folders, which files were not, and how to go on."""
    output = opts.output
    counts, lines, names = folders.totals()
    failed = _failures(folders.failed)
    value = {
        **{name: counts[name] for name in ("sessions", "entries", "skipped")},
        "session_ids": names,
        "other_lines": dict(lines.most_common()),
        "notes": plain_notes(folders.notes),
        "note_counts": note_counts(folders.notes),
        "reread": [],  # --again takes no folder
        "files": folders.files,
        "no_transcripts": sorted(folders.others),
        "failed": [{"file": path, "message": message} for path, message in failed.items()],
    }

    def show() -> None:
        output.say(f"{counted(folders.files, 'file')} read")
        show_imported(output, counts, lines, names)
        show_notes(output, folders.notes)
        if folders.others:
            output.say(
                f"without a transcript: {', '.join(sorted(folders.others)[:5])}{_more(len(folders.others))}", "dim"
            )
        for message in failed.values():
            output.say(f"not imported: {message}", "yellow")
        show_next(opts, folders.imported, user)

    output.result(value, show)


def _failures(failed: Mapping[str, LedgerError]) -> dict[str, str]:
    return {path: safe(_described(_in_place(fault, path), path)) for path, fault in failed.items()}


def _more(number: int) -> str:
    return f"  … and {number - 5} more" if number > 5 else ""


def tell_more(
    output: Output, done: Sequence[Imported], notes: Sequence[ImportNote], failed: Mapping[str, LedgerError]
) -> None:
    """Say what was recorded while watching, what is to say of its windows, and which files could not be since then."""
    for imported in done:
        if imported.entries and output.json:
            output.line({"entries": imported.entries, "session_ids": imported.session_ids})
        elif imported.entries:
            output.say(f"{counted(imported.entries, 'entry')} more: {'  '.join(imported.session_ids)}")
    if notes and output.json:
        output.line({"notes": plain_notes(notes)})
    elif notes:
        show_notes(output, notes)
    for path, message in _failures(failed).items():
        if output.json:
            output.line({"failed": {"file": path, "message": message}})
        else:
            output.say(f"not imported: {message}", "yellow")
    sys.stdout.flush()


def show_imported(output: Output, counts: Mapping[str, int], lines: Counter[str], names: Sequence[str]) -> None:
    """Say how many entries of which sessions were recorded, and how many of them are other lines."""
    there = f"; {counts['skipped']:,} were there already" if counts["skipped"] else ""
    recorded = f"{counted(counts['entries'], 'entry')} of {counted(counts['sessions'], 'session')}"
    output.say(f"{recorded} recorded{there}")
    if lines:
        types = ", ".join(f"{name} {number:,}" for name, number in lines.most_common(6))
        output.say(f"{lines.total():,} of them are lines that no window shows: {types}", "dim")
    if names:
        output.say("  ".join(names[:5]) + _more(len(names)), "dim")


def show_reread(output: Output, names: Sequence[str]) -> None:
    """Say which sessions were read again, if any was read otherwise before."""
    if names:
        shown = f"{'  '.join(names[:5])}{_more(len(names))}"
        output.say(f"{counted(len(names), 'session')} read again; the history keeps the old reading: {shown}")
    else:
        output.say("no session is read otherwise than it is stored")


def plain_notes(notes: Iterable[ImportNote]) -> list[dict[str, Any]]:
    """Return *notes* as JSON."""
    return [msgspec.to_builtins(note) for note in notes]


#: What the notes of a kind are about, in the order in which they are counted.
_KINDS: Final = {
    NOT_UNDERSTOOD: "not understood",
    LEFT_OUT: "left out",
    NO_CONTENT: "without content",
    NO_RESULT: "calls without a result",
    NO_CALL: "results without a call",
    GUESSED: "roles guessed",
    UNKNOWN: "windows not known",
    REWIND: "rewinds",
}


def note_counts(notes: Iterable[ImportNote]) -> dict[str, int]:
    """Return how many *notes* there are of each kind, of those that there are."""
    counted = Counter(note.kind for note in notes)
    return {kind: counted[kind] for kind in _KINDS if counted[kind]}


def show_notes(output: Output, notes: Sequence[ImportNote]) -> None:
    """Say what was not understood, and where a window may be another than its agent had: counted, the first by name."""
    if len(notes) > 1:
        counts = note_counts(notes)
        output.say("notes: " + ", ".join(f"{_KINDS[kind]} {number:,}" for kind, number in counts.items()), "yellow")
    order = list(_KINDS)
    for note in sorted(notes, key=lambda note: order.index(note.kind))[:5]:
        output.say(safe(f"{note.session_id}, line {note.line}: {note.text}"), "yellow")
    if len(notes) > 5:
        output.say(f"… and {len(notes) - 5:,} more notes, all with --json", "yellow")


def show_next(opts: Options, done: Sequence[Imported], user: str | None) -> None:
    """Name the commands to go on with after an import, for this *user* if one was given."""
    names = [name for imported in done for name in imported.session_ids]
    if not names:
        return
    shown = next((name for name in reversed(names) if not {"#", "~"} & set(name)), names[0])
    space = f" --namespace {shlex.quote(opts.namespace)}" if opts.namespace else ""
    owner = user or next((imported.users[shown] for imported in done if shown in imported.users), None)
    of_user, of_owner = (f" --user {shlex.quote(name)}" if name else "" for name in (user, owner))
    commands = [f"view {shlex.quote(shown)}{of_owner}", "search WORDS", f"sessions{of_user}"]
    opts.output.say(f"next: {', '.join(f'memory-ledger {command}{space}' for command in commands)}")


def placed(fault: LedgerError, name: str, recorded: int = 0, files: int = 1, *, again: bool = False) -> LedgerError:
    """Return *fault* with the file that it is about, and how many files were recorded before it."""
    found = _in_place(fault, name) if isinstance(fault, ImportRefused) else fault
    suffix = f"; {recorded} of {files} files recorded, {files - recorded - 1} not tried" if files > 1 else ""
    found.args = (f"{_described(found, name, again=again)}{suffix}",)
    return found


def _in_place(fault: LedgerError, name: str) -> LedgerError:
    return in_file(fault, name) if isinstance(fault, InvalidInput) else fault


def _described(fault: LedgerError, name: str, *, again: bool = False) -> str:
    advice = " with --session for this file alone, or for a file of several sessions another --namespace"
    if not again:
        advice += "; if an older version read this file otherwise, read it again with --again"
    prefix = "" if isinstance(fault, InvalidInput) else f"{name}: "
    return f"{prefix}{fault}{advice if isinstance(fault, SessionExists) else ''}"
