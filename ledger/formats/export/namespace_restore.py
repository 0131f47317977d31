"""Restore a whole namespace from an export file, byte for byte. Source: trust E-12."""

from collections.abc import Callable, Iterable

import msgspec

from ledger.errors import ImportRefused, InvalidInput
from ledger.events import StoredEvent
from ledger.events.ids import Stream
from ledger.events.names import NO_SESSIONS
from ledger.formats.export.file_reader import check, checked_before
from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S
from ledger.stores.postgres.log_restore import restoration

_PAGE = 1_000


class Restored(msgspec.Struct, frozen=True):
    """What was restored."""

    namespace: str
    sessions: int
    events: int


def restore(
    url: str,
    lines: Callable[[], Iterable[bytes]],
    *,
    namespace: str | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
    timeout_s: float = DEFAULT_TIMEOUT_S,
) -> Restored:
    """Restore the namespace in the file *lines*, which is read once to check it and once to store it.

    Raises:
        InvalidInput: ``other_namespace``: the file's is not *namespace*, if that is given.
        ImportRefused: the file was changed, or does not hold a whole namespace.
        NamespaceExists: a namespace of that name exists.
        NotAllowed: the login at *url* may not act as the owner.
    """
    contents = check(lines())
    header, trailer = contents.header, contents.trailer
    streams = {head.stream_id: Stream.of(header.namespace, head.session_id, head.user_id) for head in trailer.heads}
    if namespace is not None and namespace != header.namespace:
        message = f"must be {header.namespace}, the namespace of the file: a restored one keeps its name"
        raise InvalidInput("other_namespace", message, field="namespace")
    if header.session is not None:
        raise ImportRefused("not_whole", "the file holds a session, not a whole namespace; import it instead")
    done = 0
    with restoration(
        url, namespace=header.namespace, ledger_id=header.ledger_id, streams=streams, timeout_s=timeout_s
    ) as restoring:
        page: list[StoredEvent] = []
        for event in checked_before(lines(), contents):
            if event.position != done + len(page) + 1:
                raise ImportRefused("not_whole", "the file holds sessions, not a whole namespace; import it instead")
            page.append(event)
            if len(page) == _PAGE:
                restoring.put(page)
                done += len(page)
                page = []
                progress(done, trailer.events)
        if page:
            restoring.put(page)
        restoring.note_forks(header.parents)
    sessions = sum(head.session_id not in NO_SESSIONS for head in trailer.heads)
    return Restored(header.namespace, sessions, trailer.events)
