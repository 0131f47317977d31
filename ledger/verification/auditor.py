"""Check stored events against their own bytes and their neighbours: every hash, head, position and life."""

from collections.abc import Collection
from uuid import UUID

import msgspec

from ledger.errors import LedgerError
from ledger.events import EVENT_TYPES, ForkedFrom, ImportedFrom, OpaqueEvent, SessionOpened, StoredEvent
from ledger.events.chain import ZERO_HASH, digest_of, follows
from ledger.events.codec import NO_CONTENT, SALTED, UNREADABLE, decode_payload, is_split, stored_json
from ledger.events.ids import Stream
from ledger.events.upcasts import UpcastFailed
from ledger.ports import NamespaceInfo, StreamHead
from ledger.ports.event_store import LogBounds, SchemaDifference
from ledger.ports.fork_ranges import owner_of
from ledger.session.legal_lives import Lives
from ledger.verification.findings import Finding, LogVerdict, VerifyReport
from projections.content_facts import wrong_fact


class _OriginOnly(msgspec.Struct):
    """The fields of an opening's payload that name its origin."""

    forked_from: ForkedFrom | None = None
    imported_from: ImportedFrom | None = None


_origin_only = msgspec.json.Decoder(_OriginOnly)


class Auditor:
    """Checks events in position order; of the streams *in_part* it gets only the events that forks inherit."""

    def __init__(self, namespace: str, heads: list[StreamHead], *, in_part: Collection[UUID] = ()) -> None:
        self._namespace = namespace
        self._heads = {head.stream_id: head for head in heads}
        self._in_part = in_part
        self._parents = {
            head.stream_id: (head.parent_id, head.parent_version)
            for head in heads
            if head.parent_id is not None and head.parent_version is not None
        }
        #: The hashes that forks continue from, filled in as the events come.
        self._points: dict[tuple[UUID, int], bytes | None] = {
            (owner_of(parent_id, version, self._parents), version): None
            for parent_id, version in self._parents.values()
        }
        #: By the number of a stream's id, which hashes at once: version and hash of its newest event.
        self._ends: dict[int, tuple[int, bytes]] = {}
        self._event_ids: set[int] = set()
        self.unreadable = 0
        self._lives = Lives()
        self.findings: list[Finding] = []
        self.checked = 0
        self._check_names(heads)

    def check(self, event: StoredEvent) -> None:
        """Check *event* against its own bytes and against those before it in its stream (layer 1)."""
        self.checked += 1
        known = len(self.findings)
        stream = event.stream_id.int
        end = self._ends.get(stream)
        is_first = end is None
        version, previous = end or self._origin_of(event.stream_id)
        self._ends[stream] = (event.version, event.hash)
        if self._points and (event.stream_id, event.version) in self._points:
            self._points[event.stream_id, event.version] = event.hash
        if event.version != version + 1:
            gap = f"version {version + 1} is missing" if event.version > version else f"it comes after {version}"
            self._found(f"{gap}; the event is numbered {event.version}", 1, event)
            self._lives.distrust(event.stream_id)
            return  # without its predecessor the hash cannot be checked
        is_fork = is_first and event.stream_id in self._parents
        if is_fork or event.type == SessionOpened.type:
            self._check_origin(event, self._parents[event.stream_id] if is_fork else None)
        if event.content is None and event.content_digest is not None:
            self._found("its content is missing", 1, event)
        elif digest_of(event.content) != event.content_digest:
            self._found("its content is not the one that was hashed", 1, event)
        elif previous is None:
            self._found(f"version {version} of the session it was forked from is missing", 1, event)
        elif not follows(event, previous):
            self._found("its hash does not follow from its fields and the event before", 1, event)
        elif len(self.findings) == known:
            self._check_payload(event)
        event_id = event.event_id.int
        if event_id in self._event_ids:
            self._found("its event id occurs twice", 1, event)
        self._event_ids.add(event_id)
        if len(self.findings) > known:
            self._lives.distrust(event.stream_id)
        elif problem := self._lives.problem(event):
            self._found(problem, 1, event)

    def check_position(self, event: StoredEvent, last: int) -> None:
        """Check that positions have no gap (layer 3)."""
        if event.position <= last:
            self._found(f"its position, {event.position}, is that of another event too", 3, event)
        elif event.position != last + 1:
            missing = f"{last + 1}" if event.position == last + 2 else f"{last + 1} to {event.position - 1}"
            self._found(f"position {missing} is missing before it", 3, event)

    def check_heads(self) -> None:
        """Check that each stream has a head and that the head is its newest event (layer 2)."""
        for number, (version, _) in self._ends.items():
            stream_id = UUID(int=number)
            if stream_id not in self._heads:
                self._found_at("the stream has no head", 2, stream_id, version)
        for stream_id, head in self._heads.items():
            if stream_id in self._in_part:
                continue
            version, last_hash = self._ends.get(stream_id.int, (0, ZERO_HASH))
            if head.version != version:
                self._found_at(f"the head is at {head.version}, the newest event at {version}", 2, stream_id, version)
            elif head.head_hash != last_hash:
                self._found_at("the head has another hash than the newest event", 2, stream_id, version)

    def check_counter(self, counter: int, last: int) -> None:
        """Check that the counter of the namespace is the highest position (layer 3)."""
        if counter != last:
            self._found_at(f"the counter is at {counter}, the newest event at position {last}", 3, None, None)

    def check_unused_heads(self) -> None:
        """Check that each head has an event (layer 2)."""
        for stream_id, head in self._heads.items():
            if not head.version:
                self._found_at("the stream has a head and no event", 2, stream_id, None)

    def check_bounds(self, bounds: LogBounds, below: list[StoredEvent]) -> None:
        """Check that the events are as many as the counter says, and none is *below* the first position (layer 3).

        Called last: a number that another finding explains is not reported again.
        """
        for event in below:
            self._found(f"its position is {event.position}, below the first", 3, event)
        if bounds.events != bounds.last_position and not any(finding.layer == 3 for finding in self.findings):
            self._found_at(f"the counter is at {bounds.last_position}, there are {bounds.events} events", 3, None, None)

    def check_schema(self, differences: list[SchemaDifference]) -> None:
        """Check that the schema is that of this release: layer 3 where it guards the log, else 0 (trust K-3)."""
        for difference in differences:
            layer = 3 if difference.guards_log else 0
            self._found_at(f"the schema is not that of this release: {difference.problem}", layer, None, None)

    def check_beyond_counter(self, events: list[StoredEvent], counter: int) -> None:
        """Check that no position is beyond the counter (layer 3)."""
        for event in events:
            if event.position > counter:
                self._found(f"its position is beyond the counter, which is at {counter}", 3, event)

    def check_beyond_head(self, events: list[StoredEvent], head: int) -> None:
        """Check that no version is beyond the head, or below the first (layer 2)."""
        for event in events:
            if event.version < 1:
                self._found(f"its version is {event.version}, below the first", 2, event)
            if event.version > head:
                self._found(f"its version is beyond the head, which is at {head}", 2, event)

    def check_name(self, info: NamespaceInfo) -> None:
        """Check that the namespace has the name that gives its id (layer 3)."""
        if info.namespace != self._namespace:
            self._found_at("the name of the namespace is not the one that gives its id", 3, None, None)

    @property
    def found_no_tampering(self) -> bool:
        """Whether nothing was found that is about the log itself."""
        return all(finding.layer == 0 for finding in self.findings)

    def report(self) -> VerifyReport:
        """Return the verdict on everything checked."""
        beside = sum(finding.layer == 0 for finding in self.findings)
        if len(self.findings) > self.unreadable + beside:
            verdict: LogVerdict = "TAMPERED"
        elif self.unreadable:
            verdict = "CANNOT VERIFY"
        elif beside:
            verdict = "CACHES DIFFER"
        else:
            verdict = "OK-CHAINED" if self.checked else "EMPTY"
        return VerifyReport(
            verdict=verdict,
            checked=self.checked,
            findings=tuple(self.findings),
        )

    def _check_names(self, heads: list[StreamHead]) -> None:
        for head in heads:
            if Stream.of(self._namespace, head.session_id, head.user_id).stream_id != head.stream_id:
                self._found_at("its id does not follow from its names", 2, head.stream_id, None)

    def _origin_of(self, stream_id: UUID) -> tuple[int, bytes | None]:
        """Return version and hash that the first event of a stream follows: zero, or where it was forked."""
        if stream_id not in self._parents:
            return 0, ZERO_HASH
        parent_id, version = self._parents[stream_id]
        return version, self._points[owner_of(parent_id, version, self._parents), version]

    def _check_origin(self, event: StoredEvent, parent: tuple[UUID, int] | None) -> None:
        """Check that head and first event of a fork name the same *parent* (layer 2).

        No other stream has an event that names a parent, except a copy of a fork with its whole history.
        """
        if event.type == SessionOpened.type and event.schema_version > SessionOpened.schema_version:
            return  # of a newer release
        try:
            opened = _origin_only.decode(event.structure)
        except UNREADABLE:
            self.unreadable += 1
            self._found("its payload cannot be read, so its origin cannot be checked", 1, event)
            return
        origin = opened.forked_from
        named = origin and (Stream.of(self._namespace, origin.session_id, origin.user_id).stream_id, origin.version)
        is_copy = origin is not None and opened.imported_from is not None and origin.version == event.version - 1
        if named != parent and not (parent is None and is_copy):
            self._found("its head names another origin", 2, event)

    def _check_payload(self, event: StoredEvent) -> None:
        """Check that the class of the event reads it, and gives the stored item id; those of newer releases pass."""
        known = EVENT_TYPES.get(event.type)
        is_newer = known is None or event.schema_version > known.schema_version
        if is_newer and event.codec not in {NO_CONTENT, SALTED}:
            return
        try:
            payload = decode_payload(event.type, event.schema_version, stored_json(event))
            divided = is_split(event)
        except (LedgerError, UpcastFailed, msgspec.MsgspecError):
            self.unreadable += 1
            self._found(f"its payload cannot be read as {event.type} of schema {event.schema_version}", 1, event)
            return
        if not isinstance(payload, OpaqueEvent) and payload.item_id != event.item_id:
            self._found("its payload names another item", 1, event)
        elif not isinstance(payload, OpaqueEvent) and (field := wrong_fact(payload)):
            self._found(f"it says of its content what is not so ({field})", 1, event)
        elif not divided:
            self._found("content lies in its structure, or structure in its content", 1, event)

    def _found(self, problem: str, layer: int, event: StoredEvent) -> None:
        self._found_at(problem, layer, event.stream_id, event.version, event.position)

    def _found_at(
        self, problem: str, layer: int, stream_id: UUID | None, version: int | None, position: int | None = None
    ) -> None:
        head = self._heads.get(stream_id) if stream_id else None
        self.findings.append(
            Finding(
                problem=problem,
                layer=layer,
                namespace=self._namespace,
                stream_id=stream_id,
                user_id=head.user_id or None if head else None,
                session_id=head.session_id if head else None,
                version=version,
                position=position,
            )
        )
