"""Compare the rows of API tokens, which lie beside the log, with the events that prove them. Source: trust K-6."""

from ledger.errors import LogCorrupted
from ledger.events.codec import decode
from ledger.history.read_ahead import stream_pages
from ledger.ports import Store
from ledger.ports.token_store import ACCESS
from ledger.verification.findings import Finding
from projections.log.tokens import tokens


async def check_tokens(store: Store) -> list[Finding]:
    """Return a finding of layer 0 for each token that its events do not prove; the service refuses it."""
    found = await _problems(store)
    if found:  # a token may be created or revoked between the two reads, but not twice
        again = await _problems(store)
        found = [problem for problem in found if problem in again]
    return [
        Finding(
            problem=problem,
            layer=0,
            namespace=ACCESS.namespace,
            stream_id=ACCESS.stream_id,
            session_id=ACCESS.session_id,
        )
        for problem in found
    ]


async def _problems(store: Store) -> list[str]:
    rows = await store.tokens.all()
    until, _ = await store.events.head(ACCESS)
    try:
        logged = tokens([decode(event) async for page in stream_pages(store, ACCESS, until=until) for event in page])
    except LogCorrupted as fault:
        return [str(fault)]
    differences = [token.difference(key_id, logged.get(key_id)) for key_id, token in rows.items()]
    missing = [
        f"token {key_id} is missing in the table of tokens"
        for key_id, token in logged.items()
        if key_id not in rows and not token.is_revoked
    ]
    return [difference for difference in differences if difference is not None] + missing
