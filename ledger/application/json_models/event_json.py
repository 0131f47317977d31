"""Events, as they are stored."""

from pydantic import Field

from ledger.application.json_models.shapes import Id, Shape, Time, UserId
from ledger.events import JsonObject
from ledger.history.log_page import Link


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


class ListedEventShape(EventShape):
    """An event of a page of the log, in a line of text, with the state of its link in the chain."""

    text: str = Field(description="What happened, in at most 300 characters.")
    link: Link = Field(
        description="Whether the hash follows from the event and the one before it; `first`: there is none before it."
    )
