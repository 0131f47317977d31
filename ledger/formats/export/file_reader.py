"""Turn lines into events, and verify each. Source: trust I-68, I-69, I-72."""

import base64
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from itertools import islice
from typing import Any, Final, TypeVar
from uuid import UUID

import msgspec

from ledger.errors import ImportRefused, InvalidInput
from ledger.events import CompactionRequested, EntryAdded, Event, OpaqueEvent, SessionOpened, StoredEvent
from ledger.events.canonical import canonical_json
from ledger.events.chain import ZERO_HASH, digest_of, event_hash
from ledger.events.codec import decode_payload
from ledger.events.ids import Stream, namespace_id
from ledger.events.names import check_name
from ledger.events.strict_json import TRANSCRIPT, parse
from ledger.formats.export.file_lines import FORMAT, FORMAT_VERSION, EventLine, Head, Header, Trailer
from ledger.formats.export.histories import Histories
from ledger.formats.export.payload_checks import read_payload
from ledger.formats.export.trailers import check_names, check_trailer
from ledger.ports.fork_ranges import owner_of

L = TypeVar("L", bound=msgspec.Struct)

FILE_CHANGED: Final = "the file changed while it was read; nothing was recorded, so try again"
#: The version of files from before the first release; their events had another form.
_UNRELEASED: Final = 1
#: How the types begin of events that belong to no session (trust R-1).
_RESERVED: Final = ("record.", "summary_view.")
_EVENT_LINES: Final = msgspec.json.Decoder(EventLine)


class Contents(msgspec.Struct, frozen=True):
    """What a checked file holds; *entries* counts the entries of each stream.

    *ends* has the digest of each stream's newest payload, which is the same in a copy. *running* are the compactions
    of each stream that have no outcome.
    """

    header: Header
    trailer: Trailer
    entries: dict[UUID, int]
    ends: dict[UUID, bytes]
    running: Mapping[UUID, tuple[CompactionRequested, ...]]

    @property
    def sessions(self) -> tuple[Head, ...]:
        """The exported sessions; other streams are in the file only as their parents."""
        return tuple(head for head in self.trailer.heads if self.header.session in {None, head.stream_id})


def is_ours(first_line: bytes) -> bool:
    """Tell whether *first_line* begins an export file, of any version."""
    try:
        value = msgspec.json.decode(first_line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):  # a later parser reports the fault
        return False
    return isinstance(value, dict) and value.get("format") == FORMAT


def check(lines: Iterable[bytes]) -> Contents:
    """Read a whole file, line by line, and return what it holds.

    Raises:
        ImportRefused: at the first wrong line: of another format, cut off, out of order, or with a hash that does not
            match its content.
    """
    reader = ExportReader()
    entries: dict[UUID, int] = {}
    ends: dict[UUID, bytes] = {}
    for event in reader.events(lines):
        ends[event.stream_id] = ending_of(event)
        entries[event.stream_id] = entries.get(event.stream_id, 0) + (event.type == EntryAdded.type)
    assert reader.header is not None, "a reader that refuses nothing reads to the end"
    assert reader.trailer is not None
    return Contents(reader.header, reader.trailer, entries, ends, reader.running)


def ending_of(event: StoredEvent) -> bytes:
    """Return what the newest event of a stream is known by: in a copy, it is the same."""
    return sha256(event.structure + (event.content_digest or b"")).digest()


def checked_before(lines: Iterable[bytes], contents: Contents) -> Iterator[StoredEvent]:
    """Yield the events of a file that `check` has read; the file is refused at its end if it has changed since.

    Raises:
        ImportRefused: ``changed``, or a line cannot be read.
    """
    namespace_uuid, digest, count = namespace_id(contents.header.namespace), sha256(), contents.trailer.events
    for number, line in enumerate(islice(lines, count + 1), start=1):
        digest.update(line)
        if number > 1:
            found = _as_written(line) or _convert(_parse(line, number), EventLine, number)
            yield _stored(found, namespace_uuid, number)
    if digest.hexdigest() != contents.trailer.sha256:
        raise ImportRefused("changed", FILE_CHANGED)


class ExportReader:
    """Yields the verified events of a file; the trailer is known at the end."""

    def __init__(self) -> None:
        self.header: Header | None = None
        self.trailer: Trailer | None = None
        self.running: Mapping[UUID, tuple[CompactionRequested, ...]] = {}

    def events(self, lines: Iterable[bytes]) -> Iterator[StoredEvent]:
        """Yield the events in position order.

        Raises:
            ImportRefused: see `check`.
        """
        numbered = enumerate(lines, start=1)
        digest = sha256()
        header = self.header = self._header(next(numbered, (1, b""))[1], digest)
        namespace_uuid = namespace_id(header.namespace)
        heads: dict[UUID, tuple[int, bytes]] = {}
        points = _points(header)
        histories = Histories(header)
        kinds: dict[UUID, set[bool]] = {}  # per stream: whether it has events about records, and others
        count, position, number = 0, 0, 1
        for number, line in numbered:
            found = _as_written(line)
            value = {} if found is not None else _parse(line, number)
            if "heads" in value:
                trailer = _convert(value, Trailer, number)
                check_trailer(trailer, header, heads, count, digest.hexdigest(), number)
                check_names(trailer, header, kinds, number)
                if any(rest.strip() for _, rest in numbered):
                    raise ImportRefused("trailing_lines", "there are lines after the trailer", line=number + 1)
                self.trailer, self.running = trailer, histories.running()
                return
            digest.update(line)
            event, payload = _event(found or _convert(value, EventLine, number), namespace_uuid, number)
            is_first = event.stream_id not in heads
            if is_first:
                _check_parent(event.stream_id, header, heads, number)
                heads[event.stream_id] = _before_first(event, header, points, number)
            version, previous = heads[event.stream_id]
            if event.version != version + 1:
                raise ImportRefused(
                    "version_gap", f"version {event.version} follows {version} of its stream", line=number
                )
            if event.position <= position:
                raise ImportRefused("out_of_order", f"position {event.position} follows {position}", line=number)
            if event_hash(event, previous) != event.hash:
                raise ImportRefused("hash_mismatch", "the event's hash does not match its content", line=number)
            if is_first and event.stream_id in header.parents:
                histories.fork(event.stream_id, _parent(event.stream_id, header))
            problem = histories.problem(event, payload)
            if problem is not None:
                raise ImportRefused("bad_history", f"{problem}; no writer writes such an event", line=number)
            heads[event.stream_id] = (event.version, event.hash)
            if (event.stream_id, event.version) in points:
                points[event.stream_id, event.version] = event.hash
                histories.remember((event.stream_id, event.version))
            kinds.setdefault(event.stream_id, set()).add(event.type.startswith(_RESERVED))
            count, position = count + 1, event.position
            yield event
        raise ImportRefused("truncated", "the file ends without its trailer", line=number + 1)

    def _header(self, line: bytes, digest: Any) -> Header:
        value = _parse(line, 1)
        if value.get("format") != FORMAT:
            raise ImportRefused("unknown_format", "the file is not a memory-ledger export", line=1)
        if value.get("format_version") == _UNRELEASED:
            text = "the file is from before the first release, and its events cannot be read; export the session again"
            raise ImportRefused("unreleased_format", text, line=1)
        if value.get("format_version") != FORMAT_VERSION:
            raise ImportRefused("newer_format", "the file was written by another major release; upgrade", line=1)
        digest.update(line)
        header = _convert(value, Header, 1)
        try:
            check_name(header.namespace, field="namespace")
        except InvalidInput as fault:
            raise ImportRefused(fault.code, str(fault), line=1) from None
        return header


def _points(header: Header) -> dict[tuple[UUID, int], bytes | None]:
    """Return the events that forks continue from; their hashes are not known yet."""
    parents = header.parents
    return {(owner_of(parent_id, version, parents), version): None for parent_id, version in parents.values()}


def _parent(stream_id: UUID, header: Header) -> tuple[UUID, int]:
    """Return stream and version of the event that a fork continues from."""
    parent_id, version = header.parents[stream_id]
    return owner_of(parent_id, version, header.parents), version


def _check_parent(stream_id: UUID, header: Header, heads: Mapping[UUID, object], line: int) -> None:
    """Refuse a fork before its parent, of which the file of a single fork may have no event."""
    parent_id, _ = header.parents.get(stream_id, (None, 0))
    if header.session is None and parent_id is not None and parent_id not in heads:
        raise ImportRefused("version_gap", "the session that it was forked from is not before it", line=line)


def _before_first(
    event: StoredEvent, header: Header, points: dict[tuple[UUID, int], bytes | None], line: int
) -> tuple[int, bytes]:
    """Return version and hash before the first event of a stream: zero, or those of the fork's parent."""
    parents = header.parents
    if event.stream_id not in parents:
        return 0, ZERO_HASH
    parent_id, version = parents[event.stream_id]
    previous = points[_parent(event.stream_id, header)]
    if previous is None:
        raise ImportRefused("version_gap", f"version {version}, which it was forked from, is not before it", line=line)
    is_opening = event.type == SessionOpened.type
    opened = decode_payload(event.type, event.schema_version, event.structure) if is_opening else None
    origin = opened.forked_from if isinstance(opened, SessionOpened) else None
    named = origin and (Stream.of(header.namespace, origin.session_id, origin.user_id).stream_id, origin.version)
    if named != (parent_id, version):
        raise ImportRefused("fork_mismatch", "the session was not forked where the header says", line=line)
    return version, previous


def _event(line: EventLine, namespace_id: UUID, number: int) -> tuple[StoredEvent, Event | OpaqueEvent]:
    event = _stored(line, namespace_id, number)
    if event.is_erased:
        raise ImportRefused("content_missing", "the content of the event is missing", line=number)
    if digest_of(event.content) != event.content_digest:
        raise ImportRefused("hash_mismatch", "the content does not match its digest", line=number)
    return event, read_payload(event, number)


def _stored(line: EventLine, namespace_id: UUID, number: int) -> StoredEvent:
    try:
        return StoredEvent(
            namespace_id,
            line.stream_id,
            line.version,
            line.position,
            line.event_id,
            line.type,
            line.schema_version,
            line.codec,
            line.occurred_us,
            line.recorded_us,
            line.actor,
            None if line.content_digest is None else bytes.fromhex(line.content_digest),
            bytes.fromhex(line.hash),
            base64.b64decode(line.structure, validate=True),
            None if line.content is None else base64.b64decode(line.content, validate=True),
            line.item_id,
            line.key_id,
            None if line.key_commitment is None else bytes.fromhex(line.key_commitment),
        )
    except ValueError:
        raise ImportRefused("bad_encoding", "a field must be hex or base64", line=number) from None


def _as_written(line: bytes) -> EventLine | None:
    """Return *line* if it is, byte for byte, what `ExportWriter` writes: no parser finds a fault in it."""
    if len(line) > TRANSCRIPT.size or b"\\u0000" in line:
        return None
    try:
        found = _EVENT_LINES.decode(line)
    except msgspec.MsgspecError:
        return None
    return found if canonical_json(found) + b"\n" == line else None


def _parse(line: bytes, number: int) -> dict[str, Any]:
    try:
        value = parse(line, TRANSCRIPT)
    except InvalidInput as fault:
        raise ImportRefused(fault.code, str(fault), line=number) from None
    if not isinstance(value, dict):
        raise ImportRefused("bad_shape", "each line must be a JSON object", line=number)
    return value


def _convert(value: dict[str, Any], cls: type[L], number: int) -> L:
    try:
        return msgspec.convert(value, cls)
    except msgspec.ValidationError as fault:
        raise ImportRefused("bad_shape", str(fault), line=number) from None
