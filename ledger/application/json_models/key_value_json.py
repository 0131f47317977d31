"""Values that are kept beside the window."""

import base64
from typing import Any

from pydantic import Field

from ledger.application.json_models.shapes import Shape, Time
from ledger.results import KeptValue


class KeptShape(Shape):
    """The newest value of a key of a space: JSON as *value*, or bytes as *base64*."""

    space: str
    key: str
    version: int
    recorded_at: Time
    value: Any = None
    base64: str | None = None
    digest: str | None = Field(default=None, description="Of bytes: their SHA-256, hexadecimal.")

    @classmethod
    def of(cls, kept: KeptValue) -> "KeptShape":
        """Return the shape of a kept value."""
        is_bytes = isinstance(kept.value, bytes)
        return cls(
            space=kept.space,
            key=kept.key,
            version=kept.version,
            recorded_at=kept.recorded_at,
            value=None if is_bytes else kept.value,
            base64=base64.b64encode(kept.value).decode() if is_bytes else None,
            digest=kept.digest,
        )


class KeptBatchShape(Shape):
    """The version of the session after a batch of kept values, and the version of each value, in order."""

    session_id: str
    version: int
    versions: tuple[int, ...]


class KeptPageShape(Shape):
    """Values in the order of their keys. *next_after* is the ``after`` of the next page; null at the end."""

    values: tuple[KeptShape, ...]
    next_after: str | None
