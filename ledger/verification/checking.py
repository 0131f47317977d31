"""Verify a namespace or a session of a store."""

from collections.abc import Callable
from typing import Final

from msgspec.structs import replace

from ledger.events.chain import ZERO_HASH
from ledger.events.ids import Stream, namespace_id
from ledger.history.read_ahead import namespace_pages, stream_pages
from ledger.ports import NamespaceInfo, Store, StreamHead
from ledger.ports.token_store import ACCESS
from ledger.verification.auditor import Auditor
from ledger.verification.caches import check_caches
from ledger.verification.findings import VerifyReport
from ledger.verification.token_checks import check_tokens

_BELOW_ALL: Final = -(2**62)


async def verify_namespace(
    store: Store,
    namespace: str,
    *,
    caches: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> VerifyReport:
    """Check a whole namespace: every event, every head, every position. *progress* gets (checked, all).

    API tokens are compared with their events, whatever their namespaces (trust K-6). With *caches*, what is stored
    beside the log is compared with a replay, if nothing is wrong with the log itself.
    Events that are appended meanwhile are left to the next run.
    """
    auditor, heads = await _audit(store, namespace, progress)
    auditor.check_schema(await store.events.schema_differences())
    if namespace != ACCESS.namespace:
        access, _ = await _audit(store, ACCESS.namespace, lambda done, total: None)
        auditor.findings += access.findings or await check_tokens(store)
        auditor.unreadable += access.unreadable
    if caches and auditor.found_no_tampering:
        auditor.findings += await check_caches(store, namespace, heads, whole=True)
    return auditor.report()


async def _audit(
    store: Store, namespace: str, progress: Callable[[int, int], None]
) -> tuple[Auditor, list[StreamHead]]:
    """Return an auditor that has checked the log of a namespace, and the heads of its streams."""
    namespace_uuid = namespace_id(namespace)
    info, heads = await store.events.overview(namespace_uuid) or (NamespaceInfo(namespace, namespace_uuid, 0), [])
    auditor = Auditor(namespace, heads)
    auditor.check_name(info)
    beyond = await store.events.read_namespace(namespace_uuid, after=info.last_position)
    if beyond:  # appended since, or inserted beyond the counter
        later = await store.events.namespace(namespace_uuid)
        auditor.check_beyond_counter(beyond, later.last_position if later else 0)
    last = 0
    async for page in namespace_pages(store, namespace_uuid, until=info.last_position):
        for event in page:
            auditor.check_position(event, last)
            auditor.check(event)
            last = event.position
        progress(last, info.last_position)
    auditor.check_counter(info.last_position, last)
    auditor.check_heads()
    auditor.check_unused_heads()
    bounds = await store.events.bounds(namespace_uuid)
    first = bounds.first_position
    below = await store.events.read_namespace(namespace_uuid, after=first - 1) if bounds.events and first < 1 else []
    auditor.check_bounds(bounds, [event for event in below if event.position < 1])
    return auditor, heads


async def verify_session(
    store: Store,
    stream: Stream,
    *,
    caches: bool = False,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> VerifyReport:
    """Check one session: its chain, the chain of its parents up to where it was forked, and its head.

    *progress* gets (checked, all).
    With *caches*, what is stored of it beside the log is compared with a replay, if nothing is wrong with the log.
    """
    own, *parents = await store.events.lineage(stream) or [StreamHead(stream.stream_id, "", "", 0, ZERO_HASH)]
    head = replace(own, user_id=stream.user_id, session_id=stream.session_id)
    auditor = Auditor(stream.namespace, [head, *parents], in_part={parent.stream_id for parent in parents})
    beyond = await store.events.read_stream(stream, after=own.version, limit=1_000)
    beyond += await store.events.read_stream(stream, after=_BELOW_ALL, until=0, limit=1_000)
    if beyond:
        auditor.check_beyond_head(beyond, (await store.events.head(stream))[0])
    async for page in stream_pages(store, stream, until=own.version):
        for event in page:
            auditor.check(event)
        progress(auditor.checked, own.version)
    auditor.check_heads()
    if caches and auditor.checked and auditor.found_no_tampering:
        auditor.findings += await check_caches(store, stream.namespace, [head], whole=False)
    return auditor.report()
