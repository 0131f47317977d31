"""Search the texts of sessions."""

from ledger.application.handle import NamespaceHandle
from ledger.errors import InvalidInput
from ledger.events.names import check_name
from ledger.events.strict_json import check_flag, check_integer
from ledger.indexes.search.search_results import SearchResult
from ledger.ports.search_index import SearchQuery

MOST_FOUND = 1_000
MOST_AROUND = 50


async def search(
    handle: NamespaceHandle,
    query: str,
    *,
    session_id: str | None = None,
    user_id: str | None = None,
    collection: str | None = None,
    top_k: int = 10,
    around: int = 1,
    include_erased: bool = False,
    catch_up: bool = True,
) -> list[SearchResult]:
    """Return the *top_k* texts that match *query* best, each with *around* entries before and after it.

    A text matches if it has any of the words; rare words count for more. The query is plain words: quotes and
    operators have no meaning. The search covers entries in the window, entries that a compaction covered, and
    summaries: of one session, of a user, or of the namespace. With *collection* it covers the summaries of that
    knowledge base instead. Removed and cleared texts are not found, erased ones only with *include_erased*. A text that
    forks share is returned once: in the session that added it, or else in the oldest fork that still has it.

    Texts added before the call are found, unless *catch_up* is false. The best score comes first, then the newest.

    Raises:
        InvalidInput: a number is out of bounds, or a name is not valid.
        SessionNotFound: the session has no events.
        Unavailable: the database, or the extra ``knowledge``, is missing.
    """
    # R-REC-4, R-KB-2
    handle.services.check_open()
    if not isinstance(query, str):
        raise InvalidInput("wrong_type", "must be text", field="query")
    check_integer(top_k, field="top_k", code="bad_limit", least=1, most=MOST_FOUND)
    check_integer(around, field="around", code="bad_limit", least=0, most=MOST_AROUND)
    check_flag(include_erased, field="include_erased")
    if collection is not None:
        check_name(collection, field="collection")
    stream = None if session_id is None else await handle.existing(session_id, user_id)
    search_query = SearchQuery(
        text=query,
        kinds=("entry", "summary") if collection is None else ("knowledge",),
        stream=stream,
        user_id=None if user_id is None else check_name(user_id, field="user_id", may_be_empty=True),
        collection=collection,
        include_erased=include_erased,
        limit=top_k,
    )
    return await handle.indexes.finder.search(search_query, around=around, catch_up=catch_up)


async def embed_pending(handle: NamespaceHandle) -> int:
    """Embed the texts that have no vector yet, and return how many; each search starts this in the background.

    Raises:
        EmbedderFailed: the model returned nothing usable; vectors stored before it stay.
    """
    return await handle.indexes.finder.embed()
