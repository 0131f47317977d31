"""JSON that an entry has as text, because it is too deep or its keys are too long or too many."""

import json
from typing import Any


def read_back(value: Any) -> Any:
    """Return *value* with each object or list in it that is text as JSON again."""
    match value:
        case dict():
            return {key: read_back(item) for key, item in value.items()}
        case list():
            return [read_back(item) for item in value]
        case str() if value.startswith(("{", "[")):
            return json.loads(value)
        case _:
            return value
