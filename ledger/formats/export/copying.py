"""Change an event for a copy of its session."""

from msgspec.structs import replace

from ledger.events import ImportedFrom, SessionOpened, StoredEvent
from ledger.events.codec import decode_payload, encode
from ledger.events.ids import Stream
from ledger.formats.export.file_lines import FORMAT, Head, Header


def copied(event: StoredEvent, *, source: Header, head: Head, target: Stream, parent: Stream | None = None) -> bytes:
    """Return the structure of *event* in a copy: the same bytes, except for names and origin in the opening.

    If the copy is still a fork, it is forked from *parent*.

    Source: trust E-12.
    """
    if event.type != SessionOpened.type:
        return event.structure
    opened = decode_payload(event.type, event.schema_version, event.structure)
    if not isinstance(opened, SessionOpened):
        return event.structure
    origin = ImportedFrom(
        format=FORMAT,
        ledger_id=str(source.ledger_id),
        namespace=source.namespace,
        user_id=head.user_id,
        session_id=head.session_id,
        version=head.version,
        head_hash=head.hash,
    )
    renamed = replace(
        opened, namespace=target.namespace, user_id=target.user_id, session_id=target.session_id, imported_from=origin
    )
    if parent is not None and opened.forked_from is not None:
        forked_from = replace(opened.forked_from, session_id=parent.session_id, user_id=parent.user_id)
        renamed = replace(renamed, forked_from=forked_from)
    return encode(renamed, b"")[1]  # it has no content, which a salt would be for
