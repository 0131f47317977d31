"""Conversations of several named speakers over dated sessions, and what may be asked about them.

One JSON object for each conversation, in a file of its own or on a line:

    {"conversation": "allotment",
     "sessions": [{"id": "1", "date": "2025-02-03T18:20:00Z", "entries": [
       {"id": "1:3", "speaker": "Mara", "text": "We got the plot!", "caption": "a shed behind two trees"}]}],
     "questions": [{"question": "What did Mara get?", "category": "single-hop", "evidence": ["1:3"]}]}

The sessions of a conversation become one session of the ledger. Its questions are not imported; a backtest reads them
(see `ledger.replay.backtest.questions`).
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Any, Final, Literal

import msgspec

from ledger.errors import ImportRefused
from ledger.events import JsonObject
from ledger.formats.importers.elements.documents import Document
from ledger.formats.importers.elements.importer import (
    ConversationReader,
    Importer,
    conversation,
    moment,
    session_name,
    with_leftovers,
)
from ledger.formats.importers.elements.steps import EMPTY

FORMAT: Final = "dated-sessions"
_KNOWN: Final = {"id", "speaker", "role", "text", "caption", "date"}
_KNOWN_OF_SESSIONS: Final = {"id", "date", "entries"}
_KNOWN_OF_ALL: Final = {"sessions", "questions"}


class _DatedEntry(msgspec.Struct):
    text: str
    id: str | None = None
    speaker: str | None = None
    role: Literal["user", "assistant", "system"] = "user"
    caption: str | None = None
    date: str | None = None


class _DatedSession(msgspec.Struct):
    entries: list[_DatedEntry]
    id: str | None = None
    date: str | None = None


class _Conversation(msgspec.Struct):
    conversation: str
    sessions: list[_DatedSession]


def detects(found: Sequence[Document]) -> bool:
    """Tell whether the document has sessions with entries."""
    sessions = found[0].value.get("sessions") if isinstance(found[0].value, dict) else None
    return isinstance(sessions, list) and bool(sessions) and isinstance(sessions[0], dict) and "entries" in sessions[0]


def read(found: Iterator[Document], name: str) -> Iterator[ConversationReader]:
    """Yield one conversation for each document.

    Raises:
        ImportRefused: ``bad_shape``, ``bad_date``, or ``duplicate_id`` for two entries with one id.
    """
    for document in found:
        parsed = _parsed(document)
        _refuse_duplicates(parsed, document.line)
        about = {key: field for key, field in document.value.items() if key not in _KNOWN_OF_ALL and field is not None}
        messages = ((document.line, [entry]) for entry in _entries(parsed, document))
        yield conversation(FORMAT, parsed.conversation, messages, about=about)


def questions_of(document: Document) -> list[JsonObject]:
    """Return the questions of a conversation as they are written, each with the ``session`` it is about.

    Raises:
        ImportRefused: ``bad_shape``.
    """
    session = session_name(_parsed(document).conversation)
    try:
        questions = msgspec.convert(document.value.get("questions", []), list[dict[str, Any]])
    except msgspec.ValidationError as fault:
        raise ImportRefused("bad_shape", f"questions: {fault}", line=document.line) from None
    return [{**question, "session": session} for question in questions]


def _parsed(document: Document) -> _Conversation:
    try:
        return msgspec.convert(document.value, _Conversation)
    except msgspec.ValidationError as fault:
        raise ImportRefused("bad_shape", str(fault), line=document.line) from None


def _refuse_duplicates(parsed: _Conversation, line: int) -> None:
    ids = Counter(entry.id for session in parsed.sessions for entry in session.entries if entry.id is not None)
    twice = next((id_ for id_, count in ids.items() if count > 1), None)
    if twice is not None:
        message = f"two entries of {parsed.conversation} have the id {twice}; give each an id of its own"
        raise ImportRefused("duplicate_id", message, line=line)


def _entries(parsed: _Conversation, document: Document) -> Iterator[JsonObject]:
    for session, raw_session in zip(parsed.sessions, document.value["sessions"], strict=True):
        left = {key: field for key, field in raw_session.items() if key not in _KNOWN_OF_SESSIONS and field is not None}
        for entry, raw in zip(session.entries, raw_session["entries"], strict=True):
            date = entry.date or session.date
            draft: JsonObject = {
                "kind": "message",
                "role": entry.role,
                "content": entry.text if entry.text.strip() else EMPTY,
                "created_at": _moment(date, document.line),
                "data": {"session": left} if left else None,
            }
            left = {}
            yield with_leftovers(
                draft,
                raw,
                _KNOWN,
                name=entry.speaker,
                caption=entry.caption,
                original_id=entry.id,
                original_timestamp=date,
                session=session.id,
            )


def _moment(date: str | None, line: int) -> datetime | None:
    found = moment(date)
    if date is not None and found is None:
        raise ImportRefused("bad_date", f"{date!r} is no date; write it as 2025-02-03T18:20:00Z", line=line)
    return found


IMPORTER: Final = Importer(FORMAT, detects, read)
