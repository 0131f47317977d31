"""The saver's serializer: it makes objects of registered types only, so that stored bytes are never code.

The SDK's own one imports and calls whatever a stored value names. Source: adapters LG-16.
"""

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from typing import Any, Final, TypeAlias

from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

from ledger.errors import InvalidInput, Unreadable

#: A class, or its module and name.
RegisteredType: TypeAlias = type | tuple[str, str]

_BLOCKED: Final = frozenset({"msgpack_blocked", "msgpack_method_blocked"})
_blocked: ContextVar[set[str] | None] = ContextVar("blocked", default=None)


class RegisteredTypes(JsonPlusSerializer):
    """LangGraph's serializer in its strict mode, which raises where that returns a part of the value instead."""

    def __init__(self, allowed_types: Iterable[RegisteredType] = ()) -> None:
        """Load the types that LangGraph registers, and *allowed_types*."""
        super().__init__(allowed_msgpack_modules=tuple(allowed_types))

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        """Return the value of its type and bytes.

        Raises:
            Unreadable: it has an object of a type that is not registered; nothing of it was imported or called.
        """
        if data[0] == "json":
            raise Unreadable("the thread has a value of the type `json`, which this saver neither writes nor loads")
        blocked: set[str] = set()
        token = _blocked.set(blocked)
        try:
            value = super().loads_typed(data)
        finally:
            _blocked.reset(token)
        if blocked:
            raise Unreadable(
                f"the thread has values of types that are not registered: {', '.join(sorted(blocked))}; if they are "
                "yours, name them: LedgerSaver(…, allowed_types=[…])"
            )
        return value


def registered_only(serde: Any, allowed_types: Sequence[RegisteredType]) -> Any:
    """Return *serde*, or `RegisteredTypes` in the place of one of the SDK's that loads every type.

    A serializer that has a list of its own, or is of another class, is the program's choice and stays.

    Raises:
        InvalidInput: there is no place for *allowed_types* in it, or one is neither a class nor a module and a name.
    """
    for at, each in enumerate(allowed_types):
        if not isinstance(each, type) and not (isinstance(each, tuple) and list(map(type, each)) == [str, str]):
            message = "must be a class, or the text of its module and of its name"
            raise InvalidInput("bad_value", message, field=f"allowed_types[{at}]")
    if serde is None or _loads_all(serde):
        return RegisteredTypes(allowed_types)
    if type(serde) is EncryptedSerializer and _loads_all(serde.serde):
        return EncryptedSerializer(serde.cipher, RegisteredTypes(allowed_types))
    if allowed_types:
        message = "name the types in the serializer that is given as `serde`, which has a list of its own"
        raise InvalidInput("bad_value", message, field="allowed_types")
    return serde


def _loads_all(serde: Any) -> bool:
    allowed = getattr(serde, "_allowed_msgpack_modules", None)
    return type(serde) is JsonPlusSerializer and allowed is True and not serde.pickle_fallback


def _note(event: SerdeEvent) -> None:
    names = _blocked.get()
    if names is not None and event["kind"] in _BLOCKED:
        names.add(".".join([event["module"], event["name"], *filter(None, [event.get("method")])]))


register_serde_event_listener(_note)
