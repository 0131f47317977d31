"""Replay a session under another memory config, and compare two points of it. Nothing is written."""

from collections import ChainMap, Counter
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any, Unpack, get_args

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import check_when
from ledger.errors import EntryNotFound, InvalidInput
from ledger.events import CompactionCompleted, EntryAdded, Ranges, RecordedEvent
from ledger.events.ids import Stream
from ledger.events.strict_json import check_flag, check_integer
from ledger.history.difference import Answers, Difference, DiffInput, difference
from ledger.history.state_comparison import covered_by
from ledger.llm.summarizers import SummarizerChoice, chosen_summarizer
from ledger.replay.what_if.config_replay import Replay
from ledger.replay.what_if.recorded_answers import OnMiss, cache_of
from ledger.replay.what_if.replayed import Replayed
from ledger.replay.what_if.run import answer_source, recorded, run, side_of
from ledger.results import ConfigLike, Point, WhatIf, When
from ledger.session.entry_drafts import check_time
from ledger.session.state import SessionState
from projections.memory_config import config as memory_config
from projections.memory_config import config_check
from projections.memory_config.config_check import Trial
from projections.values import ranges
from projections.window import Window


async def what_if(
    handle: NamespaceHandle,
    session_id: str,
    config: ConfigLike | None = None,
    *,
    summarizer: SummarizerChoice = None,
    on_miss: OnMiss = "raise",
    without: Iterable[str | int] = (),
    recount: bool = False,
    **when: Unpack[When],
) -> WhatIf:
    """Return what the session would be, now or in the past, if *config* had applied from its first entry.

    Without *config* the session's own one applies, as it is now or was then. Summaries come from the session's
    history, found by the digest of the request. For a request without a recorded answer *on_miss* is ``raise``,
    ``call`` the *summarizer* (by default the session's own), or ``estimate`` the length of the answer. Entries in
    *without*, by id or version, are left out; *recount* counts tokens again with the config's tokenizer. Nothing is
    written.

    Raises:
        InvalidInput: the config is wrong, or a model is to be called and there is none.
        SessionNotFound, VersionNotFound, EntryNotFound: the session, the version or an entry does not exist.
        SummaryMissing: a request has no recorded answer, and *on_miss* is ``raise``.
    """
    # R-WIF-1 … R-WIF-7
    left_out = _names_in(without)
    version, moment = check_when(when)
    stream = handle.stream(session_id, when.get("user_id"))
    if moment is not None:
        version = await _version_at(handle, stream, moment)
    events = await handle.events(session_id, when.get("user_id"), version=version)
    before = recorded(events, handle.services.prices)
    after, replayed, answers = await _replayed(
        handle,
        stream,
        before.state.config if config is None else config,
        events,
        summarizer=summarizer,
        on_miss=on_miss,
        without=_ids_of(left_out, events),
        recount=recount,
    )
    return WhatIf(
        session_id=session_id,
        version=events[-1].version,
        config=after.state.config,
        state=after.state,
        window=after.window,
        completed=replayed.completed,
        failed=replayed.failed,
        spent=after.spent,
        answers=answers,
        difference=difference(before, after, covered_by(replayed.completed)),
        findings=config_check.check(after.state.config, _trial(events, replayed.completed, after.state, after.window)),
    )


def _trial(
    events: Sequence[RecordedEvent], completed: Sequence[CompactionCompleted], state: SessionState, window: Window
) -> Trial:
    by_role = Counter(
        event.payload.role
        for event in events
        if isinstance(event.payload, EntryAdded) and event.payload.kind in {"message", "step_result"}
    )
    return Trial(
        state=state,
        window=window,
        turns=by_role["user"],
        answers=by_role["assistant"],
        compactions=tuple(each.key for each in completed),
    )


async def diff(
    handle: NamespaceHandle,
    session_id: str,
    before: Point | None = None,
    after: Point | None = None,
    *,
    on_miss: OnMiss = "raise",
    user_id: str | None = None,
) -> Difference:
    """Return what differs between two points of the session: what a model saw, prices, and all content.

    Each side is a version, a moment with an offset, None for now, or a memory config, which is replayed up to the
    version of the other side; data and memories do not depend on the config. Raises as `get_state` and `what_if` do.
    """
    # R-WIF-8, http W-72
    stream = handle.stream(session_id, user_id)
    points = (before, after)
    versions = [await _version_of(handle, stream, point) for point in points]
    known = [version for version in versions if version is not None]
    events = await handle.events(session_id, user_id, version=None if None in points else max(known, default=None))
    versions = [
        events[-1].version if point is None else version for point, version in zip(points, versions, strict=True)
    ]
    if any(version is not None and not 1 <= version <= events[-1].version for version in versions):
        raise await handle.services.states.absence(stream)
    replayed_until = next((version for version in versions if version is not None), None)
    sides: list[DiffInput] = []
    covered: Ranges = ()
    for point, version in zip(points, versions, strict=True):
        if version is not None:
            sides.append(recorded(_until(events, version), handle.services.prices))
        else:
            assert not isinstance(point, int | datetime | str | None)
            side, replayed, _ = await _replayed(handle, stream, point, _until(events, replayed_until), on_miss=on_miss)
            covered = ranges.union([covered, covered_by(replayed.completed)])
            sides.append(side)
    first, last = versions
    if first is not None and last is not None and first < last:
        between = (event.payload for event in events if first < event.version <= last)
        covered = covered_by(payload for payload in between if isinstance(payload, CompactionCompleted))
    return difference(sides[0], sides[1], covered)


async def _replayed(
    handle: NamespaceHandle,
    stream: Stream,
    config: ConfigLike,
    events: Sequence[RecordedEvent],
    *,
    summarizer: SummarizerChoice = None,
    on_miss: OnMiss = "raise",
    without: frozenset[str] = frozenset(),
    recount: bool = False,
) -> tuple[DiffInput, Replayed, Answers]:
    loaded = memory_config.load(config)
    if on_miss not in get_args(OnMiss):
        raise InvalidInput("wrong_type", f"must be one of {', '.join(get_args(OnMiss))}", field="on_miss")
    check_flag(recount, field="recount")
    if on_miss == "call":
        handle.rights.check_config(loaded, known=(await handle.services.states.newest(stream)).config)
    own = handle.services.compactor.summarizer_of(stream)
    summary_source = answer_source(chosen_summarizer(summarizer) if summarizer is not None else own, events)
    replayed, answers = await run(
        Replay(loaded, method=summary_source.method, model=summary_source.model, without=without, recount=recount),
        events,
        cache=ChainMap(handle.services.what_if_answers, cache_of(events)),
        answer_source=summary_source,
        on_miss=on_miss,
        tokenizer=loaded.tokenizer,
        models=handle.services.models,
    )
    return side_of(replayed, handle.services.prices), replayed, answers


async def _version_of(handle: NamespaceHandle, stream: Stream, point: Point | None) -> int | None:
    """Return the version of *point*; None if it is None or a config."""
    match point:
        case bool():
            raise InvalidInput("bad_version", "must be a version, a moment or a config", field="point")
        case int():
            return check_integer(point, field="version")
        case datetime() | str():
            moment = check_time(point, "at")
            return None if moment is None else await _version_at(handle, stream, moment)
        case _:
            return None


async def _version_at(handle: NamespaceHandle, stream: Stream, moment: datetime) -> int:
    version = await handle.services.store.events.version_at(stream, moment)
    if not version:
        raise await handle.services.states.absence(stream, moment)
    return version


def _names_in(without: Any) -> list[str | int]:
    listed = isinstance(without, Iterable) and not isinstance(without, str | bytes)
    names: list[Any] = list(without) if listed else []
    if not listed or not all(isinstance(name, str | int) and not isinstance(name, bool) for name in names):
        raise InvalidInput("wrong_type", "must be a list of entry ids or versions", field="without")
    return names


def _ids_of(names: Iterable[str | int], events: Sequence[RecordedEvent]) -> frozenset[str]:
    """Return the ids of the entries that *names*, ids or versions, refer to.

    Raises:
        EntryNotFound: there never was such an entry.
    """
    added = [(event.version, event.payload) for event in events if isinstance(event.payload, EntryAdded)]
    known = {version: payload.entry_id for version, payload in added}
    ids = set(known.values())
    found = {name: known.get(name) if isinstance(name, int) else name for name in names}
    for name, entry_id in found.items():
        if entry_id not in ids:
            raise EntryNotFound(str(name), ever=False)
    return frozenset(entry_id for entry_id in found.values() if entry_id is not None)


def _until(events: Sequence[RecordedEvent], version: int | None) -> Sequence[RecordedEvent]:
    return events if version is None else [event for event in events if event.version <= version]
