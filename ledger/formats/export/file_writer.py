"""Turn events into lines."""

import base64
from collections.abc import Iterable
from hashlib import sha256
from uuid import UUID

from ledger.events import StoredEvent
from ledger.events.canonical import canonical_json
from ledger.formats.export.file_lines import FORMAT, FORMAT_VERSION, EventLine, ForkOrigin, Head, Header, Trailer
from ledger.ports import StreamHead


class ExportWriter:
    """Turns events into lines; `trailer` is the last line, after all events."""

    def __init__(
        self, *, ledger_id: UUID, namespace: str, forks: tuple[ForkOrigin, ...] = (), session: UUID | None = None
    ) -> None:
        self._digest = sha256()
        self._count = 0
        self._header = Header(FORMAT, FORMAT_VERSION, ledger_id, namespace, forks, session)

    def header(self) -> bytes:
        """Return the first line."""
        return self._put(self._header)

    def event(self, event: StoredEvent) -> bytes:
        """Return the line of one event."""
        self._count += 1
        return self._put(
            EventLine(
                event.position,
                event.stream_id,
                event.version,
                event.event_id,
                event.type,
                event.schema_version,
                event.codec,
                event.occurred_us,
                event.recorded_us,
                event.actor,
                event.hash.hex(),
                base64.b64encode(event.structure).decode(),
                None if event.content_digest is None else event.content_digest.hex(),
                None if event.content is None else base64.b64encode(event.content).decode(),
                event.item_id,
                event.key_id,
                None if event.key_commitment is None else event.key_commitment.hex(),
            )
        )

    def trailer(self, heads: Iterable[StreamHead]) -> bytes:
        """Return the last line; *heads* are those of the streams written."""
        ends = tuple(
            Head(head.stream_id, head.user_id, head.session_id, head.version, head.head_hash.hex()) for head in heads
        )
        return canonical_json(Trailer(self._count, self._digest.hexdigest(), ends)) + b"\n"

    def _put(self, line: Header | EventLine) -> bytes:
        data = canonical_json(line) + b"\n"
        self._digest.update(data)
        return data
