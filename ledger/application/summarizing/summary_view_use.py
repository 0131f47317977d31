"""Summary views: define them, summarize a partition, and read results. Source: http W-36, W-37."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Final, cast

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.application.services import Services
from ledger.errors import InvalidInput
from ledger.events import (
    Method,
    ModelOutput,
    SummaryViewCreated,
    SummaryViewDefinition,
    SummaryViewDeleted,
    SummaryViewEvent,
    SummaryViewPartitionSummarized,
)
from ledger.events.codec import decode
from ledger.events.ids import Stream, namespace_id
from ledger.llm.summarizers.usable import usable
from ledger.long_term_memory.summary_views import (
    Members,
    TooManyPartitions,
    check_definition,
    find_partitions,
    partition_request,
    text_without_model,
)
from ledger.long_term_memory.summary_views.partitions import MOST_PARTITIONS
from ledger.ports.contention import until_uncontended
from ledger.ports.event_encoding import append_request
from projections.prompts import SummaryRequest
from projections.records.summary_views import SUMMARY_VIEWS, SummaryView, SummaryViews, group_key
from projections.values.ranges import ranges_of

MOST_VIEWS: Final = 100


class PartitionResult(msgspec.Struct, frozen=True):
    """A stored result, and when it was computed."""

    event: SummaryViewPartitionSummarized
    computed_at: datetime


def views_stream(namespace: str) -> Stream:
    """Return the stream of a namespace's summary views."""
    return Stream.of(namespace, SUMMARY_VIEWS)


async def get_views(handle: NamespaceHandle) -> SummaryViews:
    """Return the views and runs of a namespace."""
    return await handle.services.summary_views.current(views_stream(handle.namespace))


async def namespaces_with_views(services: Services, names: Sequence[str]) -> list[str]:
    """Return those of the namespaces *names* that ever had a summary view."""
    by_id = {namespace_id(name): name for name in names}
    found = await services.store.events.find_sessions(list(by_id), SUMMARY_VIEWS, user_id="")
    return sorted(by_id[location.namespace_id] for location in found)


async def create_view(handle: NamespaceHandle, definition: SummaryViewDefinition) -> str:
    """Define a view and return its id.

    Raises:
        InvalidInput: the definition is wrong, or the namespace has too many views.
        NotPermitted: the caller of a service may not choose the model or the prompt.
    """
    check_definition(definition)
    handle.rights.check_view(definition)
    clock = handle.services.clock
    view_id, write_id = clock.ulid(), clock.ulid()

    def created(state: SummaryViews) -> list[SummaryViewEvent]:
        if len(state.views) >= MOST_VIEWS:
            raise InvalidInput("bad_view", f"a namespace has at most {MOST_VIEWS} summary views; delete one first")
        return [SummaryViewCreated(write_id=write_id, view_id=view_id, definition=definition)]

    await write_views(handle, created)
    return view_id


async def delete_view(handle: NamespaceHandle, view_id: str) -> None:
    """Delete a view, if it exists, with its results; its history stays."""
    write_id = handle.services.clock.ulid()

    def deleted(state: SummaryViews) -> list[SummaryViewEvent]:
        return [SummaryViewDeleted(write_id=write_id, view_id=view_id)] if view_id in state.views else []

    await write_views(handle, deleted)


async def get_partitions(
    handle: NamespaceHandle, view: SummaryView, *, group: Mapping[str, str] | None = None
) -> list[PartitionResult]:
    """Return the newest result of each partition whose group has the values in *group*, ordered by group."""
    wanted = {
        partition.version
        for key, partition in sorted(view.partitions.items())
        if (group or {}).items() <= msgspec.json.decode(key, type=dict[str, str]).items()
    }
    stored = await handle.services.store.events.read_versions(views_stream(handle.namespace), ranges_of(sorted(wanted)))
    found = [
        PartitionResult(cast(SummaryViewPartitionSummarized, event.payload), event.recorded_at)
        for event in map(decode, stored)
    ]
    return sorted(found, key=lambda result: group_key(result.event.group))


async def run_partition(
    handle: NamespaceHandle, view_id: str, view: SummaryView, group: Mapping[str, str]
) -> PartitionResult | None:
    """Summarize one partition now, store the result and return it; None if the view was deleted meanwhile.

    Raises:
        InvalidInput: *group* does not name exactly the fields of the view, or the view has too many partitions.
        SummarizerFailed: the model returned nothing usable; nothing is stored.
    """
    fields = view.definition.group_by
    if set(group) != set(fields):
        raise InvalidInput("bad_view", f"group must have exactly these fields: {', '.join(fields) or 'none'}")
    own, key = dict(group), group_key(dict(group))
    if key not in view.partitions and len(view.partitions) >= MOST_PARTITIONS:
        raise InvalidInput("bad_view", str(TooManyPartitions()))
    found = await find_partitions(
        handle.long_term, handle.namespace, view.definition, now=handle.services.clock.now(), group=own
    )
    result = await summarized(handle, view_id, view, found.get(key, Members(own)))
    stored = (await store_result(handle, result)).views.get(view_id)
    if stored is None:
        return None
    return next(iter(await get_partitions(handle, stored, group=own)), None)


async def summarized(
    handle: NamespaceHandle, view_id: str, view: SummaryView, members: Members
) -> SummaryViewPartitionSummarized:
    """Return the result for a partition, which nobody has stored yet; no connection is in use during the model call.

    Raises:
        SummarizerFailed: the model returned nothing usable.
    """
    result = SummaryViewPartitionSummarized(
        write_id=handle.services.clock.ulid(), view_id=view_id, group=members.group, memory_count=members.count
    )
    summarizer = handle.services.compactor.default_summarizer
    request = _request(handle, view, members)
    if not members.count or summarizer.method == "heuristic":
        text = text_without_model(members.shown)
        return msgspec.structs.replace(result, summary=text, method="heuristic", request_hash=request.request_hash)
    answer = await handle.services.models.answer(summarizer, request)
    text = usable(answer.text)
    output = ModelOutput(
        request_hash=request.request_hash,
        text=None if answer.text == text else answer.text,
        input_tokens=answer.input_tokens,
        output_tokens=answer.output_tokens,
    )
    return msgspec.structs.replace(
        result,
        summary=text,
        method=cast(Method, summarizer.method),
        model=request.model,
        request_hash=request.request_hash,
        outputs=(output,),
    )


def request_hash_of(handle: NamespaceHandle, view: SummaryView, members: Members) -> str:
    """Return the hash of what the services' model is asked about a partition."""
    return _request(handle, view, members).request_hash


def _request(handle: NamespaceHandle, view: SummaryView, members: Members) -> SummaryRequest:
    model = handle.services.compactor.default_summarizer.model
    return partition_request(view.definition, members.group, members.shown, model=model)


async def store_result(handle: NamespaceHandle, result: SummaryViewPartitionSummarized) -> SummaryViews:
    """Store the result of a partition, unless its view was deleted or its run has ended; return the state after it."""

    def stored(state: SummaryViews) -> list[SummaryViewEvent]:
        ended = result.task_id is not None and result.task_id not in state.open_runs
        return [] if ended or result.view_id not in state.views else [result]

    return await write_views(handle, stored)


async def write_views(
    handle: NamespaceHandle, decide: Callable[[SummaryViews], Sequence[SummaryViewEvent]]
) -> SummaryViews:
    """Append the events that *decide* returns for the current state, and return the state after them.

    Raises:
        Unavailable: other writers were always first, or the store could not be reached.
    """
    services, stream = handle.services, views_stream(handle.namespace)

    async def attempt(number: int) -> SummaryViews:
        state = await get_views(handle)
        events = decide(state)
        if not events:
            return state
        request = append_request(
            stream, events, expected_version=state.version, clock=services.clock, actor=handle.actor
        )
        await services.store.events.append(request)
        return await get_views(handle)

    return await until_uncontended(attempt)
