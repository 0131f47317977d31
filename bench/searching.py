"""Workloads that search."""

import itertools
import random
import time
from collections.abc import Iterator

import psycopg

from bench.measure import Work, latencies, ratio
from bench.rows import Figures
from bench.setting import Setting, fresh_namespace, ledger_over
from ledger.events.ids import namespace_id
from ledger.memory import MemoryLedger
from ledger.ports.search_index import SEARCH, SearchQuery

_ENTRIES = 100_000
_BATCH = 1_000
_VOCABULARY = 30_000
_WORDS = 60

#: SQL as written by hand: words joined by OR, ranked by density.
_BARE = """
SELECT id FROM bare_texts WHERE vector @@ %s::tsquery ORDER BY ts_rank_cd(vector, %s::tsquery) DESC LIMIT 10
"""


async def search(setting: Setting) -> Figures:
    """A query of seven words over 100,000 entries, against handwritten SQL; the first index build is measured apart.

    Words are as frequent as in language (Zipf), so that every query has some that occur nearly everywhere.
    """
    texts = _texts(random.Random(7))
    namespace = fresh_namespace()
    async with setting.store() as store, await psycopg.AsyncConnection.connect(setting.url, autocommit=True) as bare:
        ledger = ledger_over(store, namespace)
        await bare.execute("DROP TABLE IF EXISTS bare_texts")
        await bare.execute("CREATE TABLE bare_texts (id bigint PRIMARY KEY, body text, vector tsvector)")
        filled, number = 0.0, itertools.count()
        for first in range(0, setting.size(_ENTRIES), _BATCH):
            batch = list(itertools.islice(texts, _BATCH))
            await ledger.add_entries(f"session-{first}", [{"role": "user", "content": text} for text in batch])
            started = time.perf_counter()
            async with bare.cursor() as cursor, cursor.copy("COPY bare_texts (id, body) FROM STDIN") as copy:
                for text in batch:
                    await copy.write_row((next(number), text))
            filled += time.perf_counter() - started
        started = time.perf_counter()
        await bare.execute("UPDATE bare_texts SET vector = to_tsvector('simple', body)")
        await bare.execute("CREATE INDEX ON bare_texts USING gin (vector)")
        filled += time.perf_counter() - started
        built = await _build(ledger)
        await bare.execute("VACUUM ANALYZE bare_texts")
        await bare.execute("VACUUM ANALYZE ledger.search_entries")
        questions = itertools.cycle([_question(random.Random(seed)) for seed in range(50)])
        namespace_uuid = namespace_id(namespace)
        (build,) = [
            item.build for item in (await store.projections.progress(namespace_uuid))[1] if item.projection == SEARCH
        ]

        async def library() -> None:
            assert len(await ledger.search(" ".join(next(questions)), around=0)) == 10

        async def function() -> None:
            found = await store.search.find(namespace_uuid, build, SearchQuery(text=" ".join(next(questions))))
            assert len(found) == 10

        async def peer() -> None:
            query = " | ".join(f"'{word}'" for word in next(questions))
            assert len(await (await bare.execute(_BARE, (query, query))).fetchall()) == 10

        contenders: dict[str, Work] = {"library": library, "function": function, "bare": peer}
        taken = await latencies(contenders, rounds=setting.times(3), each=5)
        await ledger.close()
    return {
        "search": {"library": ratio(taken, "library", "bare"), "store": ratio(taken, "function", "bare")},
        "indexing": {"ratio": filled / built},
    }


async def _build(ledger: MemoryLedger) -> float:
    started = time.perf_counter()
    await ledger.search("anything")
    return time.perf_counter() - started


def _texts(chance: random.Random) -> Iterator[str]:
    vocabulary = [f"word{number}" for number in range(_VOCABULARY)]
    weights = list(itertools.accumulate(1 / (rank + 2) for rank in range(_VOCABULARY)))
    while True:
        yield " ".join(chance.choices(vocabulary, cum_weights=weights, k=_WORDS))


def _question(chance: random.Random) -> list[str]:
    """Return three words that occur nearly everywhere, three common ones and a rare one."""
    picks = [chance.randrange(8) for _ in range(3)]
    picks += [chance.randrange(50, 2_000) for _ in range(3)]
    return [f"word{number}" for number in (*picks, chance.randrange(5_000, 20_000))]
