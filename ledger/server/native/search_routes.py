"""Search the entries and summaries of a namespace."""

from typing import Annotated, Any

from pydantic import ConfigDict, Field

from ledger.application.json_models.search_json import HitsShape
from ledger.application.searching.session_search import MOST_AROUND, MOST_FOUND
from ledger.server.access.callers import ReadCaller
from ledger.server.http.dependencies import LedgerOf
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody

router = native_router(tags=["search"])


class Search(StrictBody):
    """A query and its filters; a body, so that queries do not appear in logs of URLs."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"query": "table for two", "top_k": 3}]})

    query: Annotated[str, Field(max_length=10_000)]
    session_id: str | None = None
    user_id: str | None = None
    collection: str | None = Field(default=None, description="A knowledge base to search instead.")
    top_k: Annotated[int, Field(ge=1, le=MOST_FOUND)] = 10
    around: Annotated[int, Field(ge=0, le=MOST_AROUND)] = 1
    include_erased: bool = False


@router.post("/v1/search", operation_id="search")
async def search(body: Search, ledger: LedgerOf, caller: ReadCaller) -> HitsShape:
    """Find the entries and summaries that answer a query best, by words and, where configured, by meaning."""
    wanted: dict[str, Any] = body.model_dump()
    found = await ledger.search(wanted.pop("query"), **wanted)
    return HitsShape.of(found)
