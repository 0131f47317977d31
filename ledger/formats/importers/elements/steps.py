"""The steps of a conversation: messages, and what else happened to its window.

A change of the window is stored together with the batch that comes after it, so a second import finds it by that
batch. An importer yields a change only directly before a batch.
"""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, Literal, TypeAlias

import msgspec

from ledger.events import JsonObject
from ledger.session.entry_drafts import EntryDraft

#: The entries of one original message (R-GEN-2).
Batch: TypeAlias = tuple[EntryDraft, ...]

#: How an empty message is shown.
EMPTY: Final = "[empty message]"
#: The key in the metadata of an entry that is recorded, and leaves the window in the same write.
HIDDEN: Final = "hidden"
#: The key in its metadata that names the type of a line that is no message.
LINE_TYPE: Final = "line_type"
#: The key in its metadata of what an import has to say of the window from this entry on; see `noted`.
NOTE: Final = "import_note"
#: The agent went on from an earlier point.
REWIND: Final = "rewind"
#: From here on the log does not say what the agent sent.
UNKNOWN: Final = "window_not_known"
#: A message or a part of it is shown by its type, or not at all.
NOT_UNDERSTOOD: Final = "not_understood"
#: The file does not say who speaks.
GUESSED: Final = "role_guessed"
#: Something of the file is no entry.
LEFT_OUT: Final = "left_out"
NO_RESULT: Final = "call_without_result"
NO_CALL: Final = "result_without_call"
#: A span says nothing of its messages.
NO_CONTENT: Final = "without_content"
#: Of two notes on one entry, which kind it has; others are 0.
_WEIGHTS: Final = {NOT_UNDERSTOOD: 1, UNKNOWN: 2}


class Summarized(msgspec.Struct, frozen=True):
    """A summary took the place of all that was in the window, but of the entries *stays*.

    It is shown ``first``, before them; ``last``, after them; where the oldest entry that it ``covered`` was; or
    directly before the entry whose id is *before*.
    """

    summary_id: str
    text: str
    stays: frozenset[str] = frozenset()
    place: Literal["first", "last", "covered"] = "first"
    before: str = ""


class Replaced(msgspec.Struct, frozen=True):
    """All that was in the window left it, instructions and summaries too, but for the entries *stays*.

    The next batch follows these.
    """

    stays: frozenset[str] = frozenset()


class Edited(msgspec.Struct, frozen=True):
    """The agent sends other texts for entries, by their ids; the first texts stay in the history."""

    texts: Mapping[str, str]


class Attached(msgspec.Struct, frozen=True):
    """Long texts and bytes that the entries of the next batch refer to, by digest."""

    contents: Mapping[str, bytes]


class Noticed(msgspec.Struct, frozen=True):
    """What the result of the import says of a *line*, and no entry does, since only what comes later shows it."""

    kind: str
    text: str
    line: int


class Rewound(msgspec.Struct, frozen=True):
    """The entries *removed* left the window, oldest first; a fork called *branch* goes on from before that.

    Without a *branch* there is no fork.
    """

    removed: tuple[str, ...]
    branch: str = ""


WindowChange: TypeAlias = Summarized | Rewound | Replaced | Edited
ConversationStep: TypeAlias = Batch | WindowChange | Attached | Noticed


def batches_of(steps: Iterable[ConversationStep]) -> Iterator[Batch]:
    """Yield the batches among *steps*."""
    return (step for step in steps if isinstance(step, tuple))


def hidden(entry: JsonObject, line_type: str | None = None) -> JsonObject:
    """Return the raw *entry* as one that the window does not show; *line_type* if it is a line that is no message."""
    marks = {HIDDEN: True, **({LINE_TYPE: line_type[:100]} if line_type else {})}
    return {**entry, "metadata": {**(entry.get("metadata") or {}), **marks}}


def noted(entry: JsonObject, kind: str, text: str, line: int | None = None) -> JsonObject:
    """Return the raw *entry* with a note of *kind*, which the import's result repeats; *line* is the entry's, if None.

    It replaces an earlier note, whose text it begins with. What did not come from a file has no line.
    """
    metadata = entry.get("metadata") or {}
    before: Any = metadata.get(NOTE)
    if before is not None:
        kind, text = max(kind, before["kind"], key=lambda each: _WEIGHTS.get(each, 0)), f"{before['text']}; {text}"
    note = {"kind": kind, "text": text[:1_000], **({} if line is None else {"line": line})}
    return {**entry, "metadata": {**metadata, NOTE: note}}


def is_hidden(draft: EntryDraft) -> bool:
    """Tell whether the entry leaves the window in the write that adds it."""
    return draft.metadata is not None and draft.metadata.get(HIDDEN) is True


def line_type_of(draft: EntryDraft) -> str | None:
    """Return the type of the line that became *draft*; None if it is part of a message."""
    return (draft.metadata or {}).get(LINE_TYPE) if is_hidden(draft) else None
