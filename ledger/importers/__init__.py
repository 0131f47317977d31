"""Foreign transcripts as conversations. To add a format: one file beside these, one line here.

An importer gets parsed JSON documents, tells by their content whether they are its own, and turns them into
conversations. It does no I/O and knows no store. What it cannot express it keeps: ids and times in metadata,
all other fields in data.
"""

from ledger.errors import ImportRefused
from ledger.importers import bfcl_memory, openai_chat, openhands, swe_agent
from ledger.importers.base import Conversation, Document, Importer, documents, renamed, session_name_of

__all__ = ["IMPORTERS", "Conversation", "Document", "documents", "read", "renamed", "session_name_of"]

#: In the order they are asked.
IMPORTERS: tuple[Importer, ...] = (
    openhands.IMPORTER,
    swe_agent.IMPORTER,
    bfcl_memory.IMPORTER,
    openai_chat.IMPORTER,
)


def read(found: list[Document], *, name: str) -> list[Conversation]:
    """Return the conversations in the *found* documents; *name* is the file's, for sessions without one.

    Raises:
        ImportRefused: ``unknown_format``, or the first line at fault.
    """
    for importer in IMPORTERS:
        if importer.detects(found):
            return _apart(importer.read(found, name))
    known = ", ".join(importer.name for importer in IMPORTERS)
    raise ImportRefused("unknown_format", f"this is no transcript in a known format: {known}, memory-ledger export")


def _apart(found: list[Conversation]) -> list[Conversation]:
    """Return *found* with a number after each name that an earlier conversation has: runs of one task, say."""
    names = {conversation.session_id for conversation in found}
    apart: dict[str, Conversation] = {}
    for conversation in found:
        name, number = conversation.session_id, 1
        while name in apart or (number > 1 and name in names):
            number += 1
            name = f"{conversation.session_id}-{number}"
        apart[name] = conversation if number == 1 else renamed(conversation, name)
    return list(apart.values())
