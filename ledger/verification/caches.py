"""Compare what is stored beside the log with a replay: reads believe it, and the log does not prove it (trust K-4).

Sessions are replayed some at a time, records by pages of their ids: only the events of these are in memory. What a
build has not folded yet, and what is written meanwhile, is left to the next run.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from ledger.events.ids import Stream, namespace_id
from ledger.events.names import NO_SESSIONS
from ledger.history.batched_reads import BatchedReads
from ledger.ports import Store, StreamHead
from ledger.ports.job_queue import JOBS
from ledger.ports.record_store import RECORDS_PROJECTION
from ledger.ports.search_index import SEARCH
from ledger.ports.session_index import SESSION_INDEX
from ledger.verification.findings import Finding, beside
from ledger.verification.live_builds import LiveBuild, live_builds
from ledger.verification.record_checks import wrong_records
from ledger.verification.session_checks import WrongRows, differences, replayed
from ledger.verification.summary_view_checks import views_differences
from projections.records.records import RECORDS
from projections.records.summary_views import SUMMARY_VIEWS

SNAPSHOTS: Final = "snapshots"
#: How each is built again.
_AGAIN: Final = {
    SESSION_INDEX: "run `memory-ledger projections rebuild session_index`",
    SEARCH: "run `memory-ledger projections rebuild search`",
    RECORDS_PROJECTION: "run `memory-ledger projections rebuild records`",
    JOBS: "delete the rows of ledger.projection_checkpoints about jobs, and a worker makes them again",
    SNAPSHOTS: "delete the rows of ledger.snapshots, and they are made again",
}
#: What is wrong with a session, or with records.
_WRONG: Final = {
    SESSION_INDEX: "its row in the session index is not what a replay gives",
    SEARCH: "what search has of it is not what a replay gives",
    RECORDS_PROJECTION: "the rows of these records are not what their events say",
    JOBS: "its jobs are not those that a replay gives",
    SNAPSHOTS: "its snapshot is not what a replay gives",
}
#: Sessions that are replayed at the same time, unless they have more events together.
_TOGETHER: Final = 50
_EVENTS_TOGETHER: Final = 5_000


async def check_caches(store: Store, namespace: str, heads: Sequence[StreamHead], *, whole: bool) -> list[Finding]:
    """Return a finding for each stream with rows beside the log that a replay does not give.

    With *whole*, *heads* are all of the namespace, and what belongs to no stream is found too.
    """
    own = namespace_id(namespace)
    findings = await _of_the_namespace(store, namespace) if whole else []
    reads = BatchedReads(store)
    for together in _batches([head for head in heads if head.session_id not in NO_SESSIONS]):
        _, builds = await live_builds(store, own)
        replays = await reads.gather(replayed(reads.store, namespace, head) for head in together)
        found = [difference for _, snapshots in replays for difference in snapshots]
        found += await differences(store, builds, [replay for replay, _ in replays if replay is not None])
        findings += await _confirmed(store, namespace, found)
    for head in heads:
        if head.session_id == SUMMARY_VIEWS:
            _, builds = await live_builds(store, own)
            found = await views_differences(store, namespace, head, builds)
            findings += await _confirmed(store, namespace, found)
        if head.session_id == RECORDS:
            findings += await _of_records(store, namespace, head)
    return findings


async def _confirmed(store: Store, namespace: str, found: Sequence[WrongRows]) -> list[Finding]:
    """Return findings for those differences that still count."""
    findings = []
    for head, build, version in found:
        if await _is_still(store, namespace, head, build):
            name = build.projection if build else SNAPSHOTS
            findings.append(beside(f"{_WRONG[name]}; {_AGAIN[name]}", namespace, head, version=version))
    return findings


async def _of_the_namespace(store: Store, namespace: str) -> list[Finding]:
    own = namespace_id(namespace)
    last, builds = await live_builds(store, own)
    findings = [
        beside(f"{build.projection} is folded up to position {build.position}, the log ends at {last}", namespace)
        for build in builds
        if build.position > last
    ]
    keys = {name: [build.key for build in builds if build.projection == name] for name in _AGAIN}
    for name, stream_id in await store.derived.strays(own, keys):
        stray = StreamHead(stream_id, "", "", 0, b"")
        findings.append(beside(f"{name} has rows of a stream that is not in the log; {_AGAIN[name]}", namespace, stray))
    for build in builds:
        wrong = await store.derived.wrong_terms(own, build.key) if build.projection == SEARCH else 0
        if wrong:
            findings.append(beside(f"search counts {wrong} words wrongly; {_AGAIN[SEARCH]}", namespace))
    return findings


async def _of_records(store: Store, namespace: str, head: StreamHead) -> list[Finding]:
    stream = Stream.of(namespace, head.session_id, head.user_id)
    findings = []
    for build in (await live_builds(store, stream.namespace_id))[1]:
        wrong = (
            await wrong_records(store, stream, head.version, build) if build.projection == RECORDS_PROJECTION else []
        )
        if wrong and await _is_live(store, stream, build):
            shown = ", ".join(wrong[:3]) + (f" and {len(wrong) - 3} more" if wrong[3:] else "")
            problem = f"{_WRONG[RECORDS_PROJECTION]}: {shown}; {_AGAIN[RECORDS_PROJECTION]}"
            findings.append(beside(problem, namespace, head))
    return findings


async def _is_still(store: Store, namespace: str, head: StreamHead, build: LiveBuild | None) -> bool:
    """Tell whether a difference counts: the session was not written meanwhile, and the build is still in use."""
    stream = Stream.of(namespace, head.session_id, head.user_id)
    if build is None:
        return True
    return (await store.events.head(stream))[0] == head.version and await _is_live(store, stream, build)


async def _is_live(store: Store, stream: Stream, build: LiveBuild) -> bool:
    return any(
        (build.projection, build.key) == (live.projection, live.key)
        for live in (await live_builds(store, stream.namespace_id))[1]
    )


def _batches(heads: Sequence[StreamHead]) -> Iterator[Sequence[StreamHead]]:
    some: list[StreamHead] = []
    for head in heads:
        if some and (len(some) == _TOGETHER or sum(each.version for each in some) + head.version > _EVENTS_TOGETHER):
            yield some
            some = []
        some.append(head)
    if some:
        yield some
