"""The base of event stores that add something to another one, such as quotas or tracing."""

from collections.abc import Awaitable, Callable, Coroutine
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from ledger.ports.event_store import EventStore

P = ParamSpec("P")
R = TypeVar("R")


def _passed_on(
    method: Callable[Concatenate[Any, P], Awaitable[R]],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return a method that calls the *method* of the store that is decorated; its signature is that of the port."""
    name = method.__name__

    @wraps(method)
    async def call(decorator: Any, /, *args: P.args, **kwargs: P.kwargs) -> R:
        found: R = await getattr(decorator._events, name)(*args, **kwargs)  # noqa: SLF001 - its own
        return found

    return call


class EventStoreDecorator:
    """An `EventStore` that passes every call on to *events*; subclasses override methods."""

    def __init__(self, events: EventStore) -> None:
        self._events = events

    append = _passed_on(EventStore.append)
    append_all = _passed_on(EventStore.append_all)
    find_request = _passed_on(EventStore.find_request)
    prune_requests = _passed_on(EventStore.prune_requests)
    read_stream = _passed_on(EventStore.read_stream)
    read_page = _passed_on(EventStore.read_page)
    read_versions = _passed_on(EventStore.read_versions)
    read_newest = _passed_on(EventStore.read_newest)
    find_items = _passed_on(EventStore.find_items)
    find_types = _passed_on(EventStore.find_types)
    find_versions = _passed_on(EventStore.find_versions)
    find_newest = _passed_on(EventStore.find_newest)
    read_kept = _passed_on(EventStore.read_kept)
    head = _passed_on(EventStore.head)
    lineage = _passed_on(EventStore.lineage)
    family = _passed_on(EventStore.family)
    version_at = _passed_on(EventStore.version_at)
    named = _passed_on(EventStore.named)
    first_events = _passed_on(EventStore.first_events)
    find_sessions = _passed_on(EventStore.find_sessions)
    read_namespace = _passed_on(EventStore.read_namespace)
    namespace = _passed_on(EventStore.namespace)
    namespaces = _passed_on(EventStore.namespaces)
    namespace_ids = _passed_on(EventStore.namespace_ids)
    overview = _passed_on(EventStore.overview)
    bounds = _passed_on(EventStore.bounds)
    schema_differences = _passed_on(EventStore.schema_differences)
