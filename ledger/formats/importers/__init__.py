"""Importers of transcripts from other systems. To add a format: one file beside these, one line here.

Each file here is a format; `elements` has what several share. An importer gets parsed JSON documents, detects by their
content whether it can read them, and turns them into conversations. It knows no store, and does no I/O but for what
`elements.spool` puts into a temporary file. Fields that have no place in an entry are stored too: ids and times in its
metadata, all others in its data.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import chain

from ledger.errors import ImportRefused, InvalidInput
from ledger.formats.importers import (
    anthropic_messages,
    bfcl_memory,
    chat_exports,
    claude_code,
    codex,
    dated_sessions,
    gemini_cli,
    langfuse,
    langsmith,
    openai_assistants,
    openai_chat,
    openai_responses,
    openhands,
    openhands_sdk,
    otlp_files,
    sharegpt,
    swe_agent,
)
from ledger.formats.importers.elements.documents import Document, documents, each_document
from ledger.formats.importers.elements.importer import (
    Conversation,
    ConversationReader,
    Importer,
    session_name_of,
    with_ids,
)
from ledger.formats.importers.elements.unread import Understood

__all__ = [
    "IMPORTERS",
    "Conversation",
    "ConversationReader",
    "Document",
    "TranscriptFile",
    "documents",
    "read",
    "session_name_of",
]

#: In the order in which they are tried.
IMPORTERS: tuple[Importer, ...] = (
    claude_code.IMPORTER,
    codex.IMPORTER,
    gemini_cli.IMPORTER,
    langsmith.IMPORTER,
    langfuse.IMPORTER,
    otlp_files.IMPORTER,
    openhands.IMPORTER,
    openhands_sdk.IMPORTER,
    swe_agent.IMPORTER,
    bfcl_memory.IMPORTER,
    dated_sessions.IMPORTER,
    chat_exports.IMPORTER,
    openai_assistants.IMPORTER,
    openai_responses.IMPORTER,
    anthropic_messages.IMPORTER,
    sharegpt.IMPORTER,
    openai_chat.IMPORTER,
)


#: What `--format` takes.
FORMATS: tuple[str, ...] = tuple(importer.name for importer in IMPORTERS)


def read(found: Iterable[Document], *, name: str) -> list[Conversation]:
    """Return the conversations in the *found* documents; *name* is for sessions without a name of their own.

    Raises:
        ImportRefused: ``unknown_format``, the fault of the first bad line, or ``not_understood`` for most of the file.
    """
    return [Conversation(one.format, one.session_id, tuple(one.steps)) for one in _each(iter(found), name)]


class TranscriptFile:
    """The conversations in a file, which is read again, line by line, each time they are iterated.

    *lines* returns the lines from the first one on. *name* is for sessions without a name of their own; *session_id*
    replaces the name of the only one. *format* names the importer that reads it, instead of the first that can.

    Raises:
        InvalidInput: there is no such format.
    """

    def __init__(
        self,
        lines: Callable[[], Iterable[bytes]],
        *,
        name: str,
        session_id: str | None = None,
        format: str | None = None,
    ) -> None:
        if format is not None and format not in FORMATS:
            raise InvalidInput("unknown_format", f"must be one of {', '.join(FORMATS)}", field="--format")
        self._lines = lines
        self._name = name
        self._session_id = session_id
        self._format = format

    def __iter__(self) -> Iterator[ConversationReader]:
        """Yield the conversations; the batches of one are gone when the next is yielded.

        Raises:
            ImportRefused: ``unknown_format``, the fault of the first bad line, ``several_sessions`` for one name, or
                ``not_understood`` for most of the file, at its end.
        """
        for number, one in enumerate(_each(each_document(self._lines()), self._name, self._session_id, self._format)):
            if number and self._session_id is not None:
                raise ImportRefused("several_sessions", "the file holds several sessions; give no session name")
            yield one


def _each(
    found: Iterator[Document], name: str, session_id: str | None = None, format_: str | None = None
) -> Iterator[ConversationReader]:
    """Yield the conversations; a name that an earlier one has gets a number, such as for several runs of a task."""
    taken: set[str] = set()
    understood = Understood()
    for one in _raw(found, name, format_):
        own, number = session_id or one.session_id, 1
        while session_id is None and own in taken:
            number += 1
            own = f"{one.session_id}-{number}"
        taken.add(own)
        yield ConversationReader(one.format, own, with_ids(own, understood.counted(one.steps)))
    understood.check()


def _raw(found: Iterator[Document], name: str, format_: str | None) -> Iterator[ConversationReader]:
    first = next(found, None)
    if first is None:
        return
    for importer in IMPORTERS:
        if importer.name == format_ or (format_ is None and importer.detects([first])):
            yield from importer.read(importer.accepted(chain([first], found)), name)
            return
    known = ", ".join(FORMATS)
    raise ImportRefused("unknown_format", f"the file has no known format; use one of {known}, memory-ledger export")
