"""What all shapes share: where they are read from, and how times, users, ids and money are written."""

from datetime import UTC, datetime
from decimal import Decimal
from typing import Annotated, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema


def written(moment: datetime) -> str:
    """Return *moment* as ISO 8601 in UTC, to the microsecond (http W-6)."""
    return moment.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S.%fZ")


#: A moment, as http W-6 writes it.
Time: TypeAlias = Annotated[
    datetime,
    PlainSerializer(written, return_type=str, when_used="json"),
    WithJsonSchema({"type": "string", "format": "date-time"}, mode="serialization"),
]
#: A user; the empty name, which the store has for nobody, is null.
UserId: TypeAlias = Annotated[str | None, BeforeValidator(lambda name: name or None)]
#: An id that the library may hold as a UUID.
Id: TypeAlias = Annotated[str, BeforeValidator(str)]
#: An amount of money, which JSON has as a number.
Usd: TypeAlias = Annotated[
    Decimal,
    PlainSerializer(float, return_type=float, when_used="json"),
    WithJsonSchema({"type": "number"}, mode="serialization"),
]


class Shape(BaseModel):
    """Base of what is answered; it is read from the attributes of a library object."""

    model_config = ConfigDict(frozen=True, extra="forbid", from_attributes=True)
