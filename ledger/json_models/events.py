"""Events, as they are stored."""

from ledger.events import JsonObject
from ledger.json_models.base import Id, Shape, Time, UserId


class EventShape(Shape):
    """An event: its place, its exact payload, and its link in the chain."""

    session_id: str
    user_id: UserId
    version: int
    position: int
    event_id: Id
    type: str
    schema_version: int
    occurred_at: Time
    recorded_at: Time
    actor: str
    actor_claimed: bool
    write_id: str
    payload: JsonObject
    previous_hash: str
    hash: str
