"""Searching what was ever said in a namespace."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ledger.application.search import MOST_AROUND, MOST_FOUND
from ledger.server.callers import ReadCaller
from ledger.server.ledgers import LedgerOf
from ledger.server.native.shapes import EntryShape, Shape, SummaryShape
from ledger.server.routes import native_router
from ledger.server.strict_body import StrictBody

router = native_router(tags=["search"])


class Search(StrictBody):
    """Words, and where to look for them. A body, for what is searched for belongs into no log of addresses."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "table for two", "top_k": 3}]})

    query: Annotated[str, Field(max_length=10_000)]
    session_id: str | None = None
    user_id: str | None = None
    collection: str | None = Field(default=None, description="A knowledge base, in place of entries and summaries.")
    top_k: Annotated[int, Field(ge=1, le=MOST_FOUND)] = 10
    around: Annotated[int, Field(ge=0, le=MOST_AROUND)] = 1
    include_erased: bool = False


class SearchHitShape(Shape):
    """A text that was found, and the entries around it."""

    session_id: str
    user_id: str | None
    version: int
    kind: str
    score: float
    text: str
    first_character: int
    entry: EntryShape | None
    summary: SummaryShape | None
    before: list[EntryShape]
    after: list[EntryShape]


class Hits(Shape):
    """What was found, best first."""

    results: list[SearchHitShape]


@router.post("/v1/search", operation_id="search")
async def search(body: Search, ledger: LedgerOf, caller: ReadCaller) -> Hits:
    """Find the entries and summaries that answer a query best, by words and, where configured, by meaning."""
    wanted: dict[str, Any] = body.model_dump()
    found = await ledger.search(wanted.pop("query"), **wanted)
    return Hits(
        results=[
            SearchHitShape(
                session_id=found.session_id,
                user_id=found.user_id or None,
                version=found.version,
                kind=found.kind,
                score=found.score,
                text=found.text,
                first_character=found.first_character,
                entry=EntryShape.of(found.entry) if found.entry else None,
                summary=SummaryShape.of(found.summary) if found.summary else None,
                before=[EntryShape.of(entry) for entry in found.before],
                after=[EntryShape.of(entry) for entry in found.after],
            )
            for found in found
        ]
    )
