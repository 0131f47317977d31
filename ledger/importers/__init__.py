"""Importers of transcripts from other systems. To add a format: one file beside these, one line here.

An importer gets parsed JSON documents, detects by their content whether it can read them, and turns them into
conversations. It does no I/O and knows no store. Fields that have no place in an entry are stored too: ids and times
in its metadata, all others in its data.
"""

from ledger.errors import ImportRefused
from ledger.importers import bfcl_memory, openai_chat, openhands, swe_agent
from ledger.importers.base import Conversation, Document, Importer, documents, renamed, session_name_of

__all__ = ["IMPORTERS", "Conversation", "Document", "documents", "read", "renamed", "session_name_of"]

#: In the order in which they are tried.
IMPORTERS: tuple[Importer, ...] = (
    openhands.IMPORTER,
    swe_agent.IMPORTER,
    bfcl_memory.IMPORTER,
    openai_chat.IMPORTER,
)


def read(found: list[Document], *, name: str) -> list[Conversation]:
    """Return the conversations in the *found* documents; *name* is for sessions without a name of their own.

    Raises:
        ImportRefused: ``unknown_format``, or the fault of the first bad line.
    """
    for importer in IMPORTERS:
        if importer.detects(found):
            return _with_unique_names(importer.read(found, name))
    known = ", ".join(importer.name for importer in IMPORTERS)
    raise ImportRefused("unknown_format", f"the file has no known format; use one of {known}, memory-ledger export")


def _with_unique_names(found: list[Conversation]) -> list[Conversation]:
    """Return *found*; a name that an earlier conversation has gets a number, such as for several runs of a task."""
    names = {conversation.session_id for conversation in found}
    unique: dict[str, Conversation] = {}
    for conversation in found:
        name, number = conversation.session_id, 1
        while name in unique or (number > 1 and name in names):
            number += 1
            name = f"{conversation.session_id}-{number}"
        unique[name] = conversation if number == 1 else renamed(conversation, name)
    return list(unique.values())
