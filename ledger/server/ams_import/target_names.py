"""Which names an import writes to: the caller's, whatever the server answers."""

from ledger.errors import InvalidInput
from ledger.events import JsonObject


def of_caller(item: JsonObject, namespace: str | None, user_id: str | None) -> JsonObject:
    """Return *item* with the names that the caller asked for, where it has none."""
    asked = {name: value for name, value in (("namespace", namespace), ("user_id", user_id)) if value is not None}
    return {**item, **{name: value for name, value in asked.items() if item.get(name) is None}}


def check_asked(item: JsonObject, namespace: str | None, user_id: str | None) -> None:
    """Refuse an *item* of another namespace or user than the caller asked for.

    Raises:
        InvalidInput: ``not_asked_for``.
    """
    for name, asked in (("namespace", namespace), ("user_id", user_id)):
        if asked is not None and item.get(name) != asked:
            message = "the server answered with that of another one than was asked for"
            raise InvalidInput("not_asked_for", message, field=name)
