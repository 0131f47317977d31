"""HNSW indexes over the vectors of large namespaces, one for each model and dimension; small ones are searched exactly.

memory-ledger db index ──── as the owner, while others write ────▶ index ◀──── nearest, checked by the exact search
"""

import hashlib
import time
from pathlib import Path
from typing import Any, Final, LiteralString
from uuid import UUID

import msgspec
from psycopg import sql

from ledger.errors import MigrationNeeded, Unavailable
from ledger.stores.postgres.connections import Pool
from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S, connect
from ledger.stores.postgres.faults import translated
from ledger.stores.postgres.log_restore import BECOME_OWNER

#: An exact search of fewer vectors takes a few hundredths of a second.
LEAST_VECTORS: Final = 10_000
_MOST_DIMENSIONS: Final = 2_000  # of an HNSW index of pgvector
_MOST_CANDIDATES: Final = 1_000  # the largest hnsw.ef_search
_CANDIDATES: Final = 4  # for each hit that is wanted, since some are of removed texts
_LOOK_AGAIN_S: Final = 60.0

_WHAT_IS_THERE: Final[LiteralString] = "SELECT to_regnamespace('ledger') IS NOT NULL, to_regclass(%s) IS NOT NULL"
_LARGE: Final = (Path(__file__).parent / "search_queries" / "large_vectors.sql").read_bytes()
_INDEXES: Final[LiteralString] = """
SELECT x.relname, i.indisvalid
FROM pg_catalog.pg_index i
JOIN pg_catalog.pg_class x ON x.oid = i.indexrelid
WHERE i.indrelid = to_regclass('ledger.search_embeddings') AND x.relname LIKE 'search\\_embeddings\\_hnsw\\_%%'
"""
_CREATE: Final[LiteralString] = """
CREATE INDEX CONCURRENTLY {name} ON ledger.search_embeddings
    USING hnsw ((embedding::public.vector({dimensions})) public.vector_cosine_ops)
    WHERE namespace_id = {namespace} AND model = {model} AND public.vector_dims(embedding) = {dimensions}
"""
_NEAREST: Final[LiteralString] = """(
    SELECT m.*
    FROM ledger.search_embeddings m
    WHERE (
            SELECT set_config('ledger.namespace', %(namespace)s::uuid::text, true)
                || set_config('hnsw.ef_search', %(candidates)s::integer::text, true)
        ) IS NOT NULL
        AND m.namespace_id = {namespace} AND m.model = {model} AND public.vector_dims(m.embedding) = {dimensions}
    ORDER BY m.embedding::public.vector({dimensions}) OPERATOR(public.<=>) %(vector)s::public.vector({dimensions})
    LIMIT %(candidates)s
)"""
_SIMILAR: Final = (Path(__file__).parent / "search_queries" / "search_similar.sql").read_text()
_TABLE: Final = "ledger.search_embeddings"


class VectorIndex(msgspec.Struct, frozen=True):
    """An index over the vectors of one model in a namespace."""

    namespace_id: UUID
    model: str
    dimensions: int

    @property
    def name(self) -> str:
        """The name of the index in PostgreSQL."""
        of = f"{self.namespace_id} {self.dimensions} {self.model}"
        return f"search_embeddings_hnsw_{hashlib.sha256(of.encode()).hexdigest()[:16]}"

    @property
    def literals(self) -> dict[str, sql.Composable]:
        """The values that a query and the condition of the index share."""
        return {
            "namespace": sql.Literal(self.namespace_id),
            "model": sql.Literal(self.model),
            "dimensions": sql.Literal(self.dimensions),
        }


class IndexedVectors(msgspec.Struct, frozen=True):
    """What `index_vectors` did: the indexes that were created, those that were there, and how many were dropped."""

    created: list[VectorIndex]
    existing: list[VectorIndex]
    dropped: int


def index_vectors(url: str, *, least: int = LEAST_VECTORS, timeout_s: float = DEFAULT_TIMEOUT_S) -> IndexedVectors:
    """Index the vectors of each namespace and model that has at least *least*; drop the indexes of all others.

    Texts can be embedded and searched meanwhile. An index that an interrupted run left behind is made again.

    Raises:
        DatabaseUnavailable: the server cannot be reached.
        MigrationNeeded: there is no schema yet.
        NotAllowed: the login at *url* may not act as the owner.
        Unavailable: the database has no pgvector.
    """
    with translated(), connect(url, timeout_s=timeout_s, takes_time=True, autocommit=True) as connection:
        row = connection.execute(_WHAT_IS_THERE, (_TABLE,)).fetchone()
        assert row is not None
        if not row[0]:
            raise MigrationNeeded("the database has no ledger schema; run `memory-ledger db upgrade`")
        if not row[1]:
            raise Unavailable("this database has no pgvector, so it stores no vectors to index")
        with connection.transaction():
            connection.execute(BECOME_OWNER)
            wanted = [
                VectorIndex(*row[:3]) for row in connection.execute(_LARGE, {"least": least, "most": _MOST_DIMENSIONS})
            ]
        valid: dict[str, bool] = dict(connection.execute(_INDEXES).fetchall())
        names = {each.name for each in wanted}
        unused = [name for name, is_valid in valid.items() if name not in names or not is_valid]
        for name in unused:
            connection.execute(sql.SQL("DROP INDEX CONCURRENTLY {}").format(sql.Identifier("ledger", name)))
        missing = [each for each in wanted if not valid.get(each.name)]
        for each in missing:
            connection.execute(sql.SQL(_CREATE).format(name=sql.Identifier(each.name), **each.literals))
        return IndexedVectors(missing, [each for each in wanted if valid.get(each.name)], len(unused))


class NearestVectors:
    """Searches for the nearest vectors, by an index if there is one; looks for new indexes once a minute."""

    def __init__(self, pool: Pool) -> None:
        self._pool = pool
        self._valid: frozenset[str] = frozenset()
        self._look_at = 0.0

    async def query(self, vectors: VectorIndex, *, limit: int) -> tuple[sql.Composed, dict[str, Any]] | None:
        """Return the query by the index, with its own parameters; None if *vectors* have no index, or *limit* is large.

        It may find fewer hits than there are.
        """
        candidates = _CANDIDATES * limit
        if candidates > _MOST_CANDIDATES or vectors.name not in await self._indexes():
            return None
        nearest = sql.SQL(_NEAREST).format(**vectors.literals)
        return sql.SQL(_SIMILAR).format(vectors=nearest), {"candidates": max(candidates, 100)}

    async def _indexes(self) -> frozenset[str]:
        if time.monotonic() >= self._look_at:
            with translated():
                async with self._pool.readers.use() as driver:
                    rows = await (await driver.execute(_INDEXES, {})).fetchall()
            self._valid = frozenset(str(row[0]) for row in rows if row[1])
            self._look_at = time.monotonic() + _LOOK_AGAIN_S
        return self._valid


#: The exact search, over all vectors of the scope.
EXACT: Final = sql.SQL(_SIMILAR).format(vectors=sql.SQL(_TABLE))
