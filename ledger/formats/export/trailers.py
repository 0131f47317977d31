"""Check the last line of an export file against the lines before it. Source: trust E-12."""

from collections.abc import Mapping
from uuid import UUID

from ledger.errors import ImportRefused, InvalidInput
from ledger.events.names import named_stream, stored_stream
from ledger.formats.export.file_lines import Header, Trailer
from ledger.ports.fork_ranges import owner_of


def check_trailer(
    trailer: Trailer, header: Header, heads: dict[UUID, tuple[int, bytes]], count: int, digest: str, line: int
) -> None:
    """Refuse a *trailer* that does not say what the *count* lines before it hold, with *heads* by stream.

    Raises:
        ImportRefused: with the trailer's *line*.
    """
    if trailer.events != count or trailer.sha256 != digest:
        raise ImportRefused("trailer_mismatch", "the lines do not match the count and digest of the trailer", line=line)
    if header.session is not None and header.session not in heads:
        raise ImportRefused("trailer_mismatch", "the file has no events of the header's session", line=line)
    named = {head.stream_id: (head.version, head.hash) for head in trailer.heads}
    if named != {stream_id: (version, last.hex()) for stream_id, (version, last) in heads.items()}:
        raise ImportRefused("trailer_mismatch", "the streams do not end where the trailer says", line=line)
    if header.session is not None and {head.stream_id: head.version for head in trailer.heads} != _lineage(
        header, header.session, heads[header.session][0]
    ):
        message = "the file of a fork must hold the fork, and of its parents the events before it, and no other"
        raise ImportRefused("fork_mismatch", message, line=line)


def check_names(trailer: Trailer, header: Header, kinds: dict[UUID, set[bool]], line: int) -> None:
    """Refuse invalid names, and streams of sessions with events of others: *kinds* tells for each what it has.

    Raises:
        ImportRefused: with the trailer's *line*.
    """
    for head in trailer.heads:
        is_reserved = kinds.get(head.stream_id) == {True}
        if not is_reserved and True in kinds.get(head.stream_id, set()):
            raise ImportRefused("mixed_stream", "a stream must not mix events of sessions with others", line=line)
        named = stored_stream if is_reserved else named_stream
        try:
            stream = named(header.namespace, head.session_id, head.user_id)
        except InvalidInput as fault:
            raise ImportRefused(fault.code, str(fault), line=line) from None
        if stream.stream_id != head.stream_id:
            raise ImportRefused("name_mismatch", "the id of a stream does not match its names", line=line)


def _lineage(header: Header, stream_id: UUID, version: int) -> Mapping[UUID, int]:
    """Return where the stream at *version* ends, and those that it continues, each up to the event before the next."""
    parents, ends = header.parents, {stream_id: version}
    while stream_id in parents:
        parent_id, version = parents[stream_id]
        stream_id = owner_of(parent_id, version, parents)
        if stream_id in ends:
            return {}  # a cycle
        ends[stream_id] = version
    return ends
