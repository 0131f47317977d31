"""Compare the rows of long-term memory with what the events of each record say."""

from typing import Final

from ledger.errors import LedgerError
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.read_ahead import stream_pages
from ledger.indexes.record_index import fits
from ledger.ports import Store
from ledger.verification.live_builds import LiveBuild
from projections.records import records
from projections.values.ranges import ranges_of

_TOGETHER: Final = 500  # records


async def wrong_records(store: Store, stream: Stream, until: int, build: LiveBuild) -> list[str]:
    """Return the ids of records of which *build* has a row that their events do not give, or none.

    Records that are written meanwhile, or are not folded into the build yet, are left out.
    """
    versions: dict[str, list[int]] = {}
    unfolded: set[str] = set()
    try:
        async for page in stream_pages(store, stream, until=until):
            for stored in page:
                for record_id in records.about(decode(stored)):
                    versions.setdefault(record_id, []).append(stored.version)
                    if stored.position > build.position:
                        unfolded.add(record_id)
    except LedgerError:  # of a newer release
        return []
    ids = sorted(versions.keys() - unfolded)
    wrong = await store.derived.other_records(stream, build.key, list(versions))
    for first in range(0, len(ids), _TOGETHER):
        some = ids[first : first + _TOGETHER]
        wanted = ranges_of(sorted({version for record_id in some for version in versions[record_id]}))
        folded = records.fold(map(decode, await store.events.read_versions(stream, wanted)))
        expected = [folded[record_id] for record_id in some if record_id in folded and fits(folded[record_id])]
        wrong += await store.derived.wrong_records(stream, build.key, expected, language=build.language)
    if not wrong:
        return []
    since = await store.events.read_stream(stream, after=until)
    changed = {record_id for stored in since for record_id in records.about(decode(stored))}
    return [record_id for record_id in wrong if record_id not in changed]
