"""The API tokens by their events: what was created, and what of it was revoked. Source: trust K-6."""

from collections.abc import Iterable

import msgspec

from ledger.events import RecordedEvent, TokenCreated, TokenRevoked


class LoggedToken(msgspec.Struct, frozen=True):
    """A token as its events say."""

    created: TokenCreated
    is_revoked: bool = False


def tokens(events: Iterable[RecordedEvent]) -> dict[str, LoggedToken]:
    """Return the tokens by key id; a key id that is created twice stays as it was first."""
    found: dict[str, LoggedToken] = {}
    for event in events:
        match event.payload:
            case TokenCreated() as created:
                found.setdefault(created.key_id, LoggedToken(created))
            case TokenRevoked(key_id=key_id) if key_id in found:
                found[key_id] = LoggedToken(found[key_id].created, is_revoked=True)
            case _:
                pass
    return found
