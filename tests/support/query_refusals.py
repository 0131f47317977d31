"""What cannot be asked of the log: as a search, a what-if, a comparison, an audit, a rebuild."""

from ledger.errors import EntryNotFound, InvalidInput, SessionNotFound, VersionNotFound
from tests.support.refusals import Refusal

NONE = {"profile": "none"}

#: Of a session that is not there.
QUERIES_WITHOUT_USER: dict[str, Refusal] = {
    "what_if": Refusal(lambda ledger: ledger.what_if("nobody", NONE), SessionNotFound, "session_not_found"),
    "adopt": Refusal(
        lambda ledger: ledger.update_config("nobody", NONE, replace=True, existing=True),
        SessionNotFound,
        "session_not_found",
    ),
    "seen": Refusal(lambda ledger: ledger.seen("nobody"), SessionNotFound, "session_not_found"),
    "derived": Refusal(lambda ledger: ledger.derived("nobody", "e"), SessionNotFound, "session_not_found"),
    "a context of nobody, recorded": Refusal(
        lambda ledger: ledger.get_context("nobody", record=True), SessionNotFound, "session_not_found"
    ),
    "a search for a number": Refusal(
        lambda ledger: ledger.search(5),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "query",
    ),
    "a search for the best 0": Refusal(lambda ledger: ledger.search("x", top_k=0), InvalidInput, "bad_limit", "top_k"),
    "a search for the best '3'": Refusal(
        lambda ledger: ledger.search("x", top_k="3"),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "top_k",
    ),
    "a search with 51 around": Refusal(
        lambda ledger: ledger.search("x", around=51), InvalidInput, "bad_limit", "around"
    ),
    "a search in a bad session": Refusal(
        lambda ledger: ledger.search("x", session_id="a/b"), InvalidInput, "bad_name", "session_id"
    ),
    "a search of a bad user": Refusal(
        lambda ledger: ledger.search("x", user_id="a/b"), InvalidInput, "bad_name", "user_id"
    ),
    "a search in a bad collection": Refusal(
        lambda ledger: ledger.search("x", collection=""), InvalidInput, "bad_name", "collection"
    ),
    "a rebuild of nothing known": Refusal(
        lambda ledger: ledger.rebuild_projections("window"), InvalidInput, "unknown_projection", "name"
    ),
    "a rebuild of a list": Refusal(
        lambda ledger: ledger.rebuild_projections([]),  # type: ignore[arg-type]
        InvalidInput,
        "unknown_projection",
        "name",
    ),
}

#: Of a session that is there, at version 2.
QUERIES: dict[str, Refusal] = {
    "what_if at version 3": Refusal(
        lambda ledger: ledger.what_if("s", NONE, version=3), VersionNotFound, "version_not_found"
    ),
    "what_if under nothing known": Refusal(
        lambda ledger: ledger.what_if("s", {"window": {"type": "telepathy"}}),
        InvalidInput,
        "bad_config",
        "window.type",
    ),
    "what_if without nobody": Refusal(
        lambda ledger: ledger.what_if("s", without=["nobody"]), EntryNotFound, "entry_not_found"
    ),
    "what_if without a text": Refusal(
        lambda ledger: ledger.what_if("s", without="e1"), InvalidInput, "wrong_type", "without"
    ),
    "what_if without a version that adds none": Refusal(
        lambda ledger: ledger.what_if("s", without=[1]), EntryNotFound, "entry_not_found"
    ),
    "what_if without a number": Refusal(
        lambda ledger: ledger.what_if("s", without=5),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "without",
    ),
    "what_if without True": Refusal(
        lambda ledger: ledger.what_if("s", without=[True]), InvalidInput, "wrong_type", "without"
    ),
    "a search in an unknown session": Refusal(
        lambda ledger: ledger.search("x", session_id="nobody"), SessionNotFound, "session_not_found"
    ),
    "what_if that guesses": Refusal(
        lambda ledger: ledger.what_if("s", on_miss="guess"),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "on_miss",
    ),
    "adopt nothing known": Refusal(
        lambda ledger: ledger.update_config("s", {"windows": {}}, replace=True, existing=True),
        InvalidInput,
        "bad_config",
        "windows",
    ),
    "diff with two bad sides": Refusal(lambda ledger: ledger.diff("s", True, False), InvalidInput, "bad_version"),
    "seen at version 3": Refusal(lambda ledger: ledger.seen("s", version=3), VersionNotFound, "version_not_found"),
    "derived from nobody": Refusal(lambda ledger: ledger.derived("s", "nobody"), EntryNotFound, "entry_not_found"),
    "derived from version 9": Refusal(lambda ledger: ledger.derived("s", 9), EntryNotFound, "entry_not_found"),
    "derived from True": Refusal(lambda ledger: ledger.derived("s", True), InvalidInput, "wrong_type", "entry_id"),
    "derived from a list": Refusal(
        lambda ledger: ledger.derived("s", ["e1"]),  # type: ignore[arg-type]
        InvalidInput,
        "wrong_type",
        "entry_id",
    ),
    "a recorded context with a bad key": Refusal(
        lambda ledger: ledger.get_context("s", record=True, idempotency_key="a b"), InvalidInput, "bad_idempotency_key"
    ),
}
