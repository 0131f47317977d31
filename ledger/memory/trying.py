"""Trying another memory config on what is recorded, comparing, and adopting it. Nothing recorded changes."""

from collections import ChainMap
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import Any, TypeAlias, Unpack, get_args

from msgspec.structs import replace

from ledger.codec import decode
from ledger.errors import EntryNotFound, InvalidInput
from ledger.events import CompactionCompleted, EntryAdded, Ranges, RecordedEvent
from ledger.history.comparing import Changes, compare, covered_by
from ledger.history.difference import Difference, Seen, diff
from ledger.memory.reading import Reading
from ledger.results import WhatIf, When
from ledger.search.knowledge import check_usable
from ledger.session.commands import ChangeConfig, Command
from ledger.session.state import SessionState
from ledger.session.views import window_of
from ledger.strict_json import check_flag
from ledger.summarizers import SummarizerChoice, chosen_summarizer
from ledger.whatif.answers import OnMiss, cache_of
from ledger.whatif.rehearsing import Answers, author_of, recorded, rehearse, tried
from ledger.whatif.replaying import Replay, Replayed
from projections import config as memory_config
from projections import ranges
from projections.config import MemoryConfig

ConfigLike: TypeAlias = Mapping[str, Any] | Sequence[Any] | MemoryConfig
#: What can be compared: a version, a moment (text is ISO 8601), or what would have been under a config.
Point: TypeAlias = int | datetime | str | ConfigLike


class Trying(Reading):
    """What-if, diff, adopt."""

    async def what_if(
        self,
        session_id: str,
        config: ConfigLike | None = None,
        *,
        summarizer: SummarizerChoice = None,
        on_miss: OnMiss = "raise",
        without: Iterable[str | int] = (),
        recount: bool = False,
        **when: Unpack[When],
    ) -> WhatIf:
        """Return what the session would be, now or then, had *config* been in force from its first entry.

        Without a *config* the session's own is meant, as it is now or was then.
        Summaries come from the session's own record, by the digest of what was asked. Without a *summarizer* the
        session's own one is meant. *on_miss* says what happens to a question nobody has answered: ``raise``,
        ``call`` the summarizer, or ``estimate`` the length of its answer. Entries in *without*, by id or version,
        are left out; *recount* counts tokens anew, by the config's tokenizer. Nothing is written.

        Raises:
            InvalidInput: the config is wrong, or a model is to be called and there is none.
            SessionNotFound, VersionNotFound, EntryNotFound: there is no such thing.
            SummaryMissing: nobody has answered a question, and *on_miss* is ``raise``.

        Source: R-WIF-1 … R-WIF-7.
        """
        left_out = _names_in(without)
        state = await self.get_state(session_id, **when)
        events = await self._events_until(session_id, state.version, when.get("user_id"))
        seen, replayed, answers = await self._tried(
            session_id,
            state.config if config is None else config,
            events,
            summarizer=summarizer,
            on_miss=on_miss,
            without=_ids_of(left_out, events),
            recount=recount,
            user_id=when.get("user_id"),
        )
        return WhatIf(
            session_id=session_id,
            version=events[-1].version,
            config=seen.state.config,
            state=seen.state,
            window=window_of(seen.state, seen.hints),
            completed=replayed.completed,
            failed=replayed.failed,
            spent=seen.spent,
            answers=answers,
            difference=diff(recorded(events, self._prices), seen),
        )

    async def diff(
        self,
        session_id: str,
        before: Point,
        after: Point,
        *,
        on_miss: OnMiss = "raise",
        user_id: str | None = None,
    ) -> Difference:
        """Return what the model was, or would have been, shown on one side and not on the other, and the prices.

        Each side is a version, a moment with an offset, or a memory config, which is replayed up to the
        version of the other side. Raises as `get_state` and `what_if` do.

        Source: R-WIF-8.
        """
        points = (before, after)
        versions = [await self._version_of(session_id, point, user_id) for point in points]
        newest = next((found for found in versions if found is not None), None)
        events = await self._events_until(session_id, max((one for one in versions if one), default=newest), user_id)
        sides: list[Seen] = []
        for point, version in zip(points, versions, strict=True):
            if isinstance(point, int | datetime | str):
                sides.append(recorded(_until(events, version), self._prices))
            else:
                seen, *_ = await self._tried(
                    session_id, point, _until(events, newest), on_miss=on_miss, user_id=user_id
                )
                sides.append(seen)
        return diff(sides[0], sides[1])

    async def compare(
        self,
        session_id: str,
        before: Point | None = None,
        after: Point | None = None,
        *,
        on_miss: OnMiss = "raise",
        user_id: str | None = None,
    ) -> Changes:
        """Return what changed in the session from one point to the other: entries, data, memories, summaries.

        Each side is as `diff` takes it, none being now; where a side is a memory config, it is replayed up to the
        version of the other, and data and memories, which no config touches, are not compared. Raises as `diff` does.

        Source: http W-72.
        """
        points: list[Point] = [await self._now(session_id, user_id) if one is None else one for one in (before, after)]
        versions = [await self._version_of(session_id, point, user_id) for point in points]
        newest = next((found for found in versions if found is not None), None)
        sides: list[SessionState] = []
        covered: Ranges = ()
        for point, version in zip(points, versions, strict=True):
            if version is not None:
                sides.append(await self.get_state(session_id, version=version, user_id=user_id))
                continue
            assert not isinstance(point, int | datetime | str)
            events = await self._events_until(session_id, newest, user_id)
            seen, replayed, _ = await self._tried(session_id, point, events, on_miss=on_miss, user_id=user_id)
            covered = ranges.union([covered, covered_by(replayed.completed)])
            working = seen.state.working
            if sides or versions[1] is not None:
                other = sides[0] if sides else await self.get_state(session_id, version=newest, user_id=user_id)
                working = other.working
            sides.append(replace(seen.state, working=working))
        first, last = versions
        if first is not None and last is not None and first < last:
            stream = self._stream(session_id, user_id)
            later = await self._store.read_stream(stream, after=first, until=last)
            payloads = (decode(event).payload for event in later)
            covered = covered_by(payload for payload in payloads if isinstance(payload, CompactionCompleted))
        return compare(sides[0], sides[1], covered)

    async def _now(self, session_id: str, user_id: str | None) -> int:
        return (await self.get_state(session_id, user_id=user_id)).version

    async def adopt(self, session_id: str, config: ConfigLike, *, user_id: str | None = None) -> MemoryConfig:
        """Let the whole *config* be the session's from the next batch on, by one event, and return it.

        What was covered or erased stays so: this does not reproduce what a what-if showed (R-WIF-11).

        Raises:
            InvalidInput: ``bad_config``, with the JSON path of the fault; or the session has ended.
            SessionNotFound: the session has no events.
        """
        wanted = check_usable(memory_config.load(config))
        stream = await self._existing(session_id, user_id)

        async def commands_for(state: SessionState) -> Sequence[Command]:
            if not state.opened:
                raise InvalidInput("session_ended", "it has ended; what is added begins another", field="session_id")
            return [ChangeConfig(self._clock.ulid(), wanted)]

        return (await self._writer.write(stream, commands_for)).state.config

    async def _tried(
        self,
        session_id: str,
        config: ConfigLike,
        events: Sequence[RecordedEvent],
        *,
        summarizer: SummarizerChoice = None,
        on_miss: OnMiss = "raise",
        without: frozenset[str] = frozenset(),
        recount: bool = False,
        user_id: str | None = None,
    ) -> tuple[Seen, Replayed, Answers]:
        wanted = memory_config.load(config)
        if on_miss not in get_args(OnMiss):
            raise InvalidInput("wrong_type", f"is one of {', '.join(get_args(OnMiss))}", field="on_miss")
        check_flag(recount, field="recount")
        own = self._compactor.summarizer_of(self._stream(session_id, user_id))
        author = author_of(chosen_summarizer(summarizer) if summarizer is not None else own, events)
        replayed, answers = await rehearse(
            Replay(wanted, method=author.method, model=author.model, without=without, recount=recount),
            events,
            cache=ChainMap(self._answers, cache_of(events)),
            author=author,
            on_miss=on_miss,
            tokenizer=wanted.tokenizer,
            deadline_s=self._deadline_s,
        )
        return tried(replayed, self._prices), replayed, answers

    async def _events_until(self, session_id: str, version: int | None, user_id: str | None) -> list[RecordedEvent]:
        """Return the session's events up to *version*; raises as `get_state` does."""
        stream = await self._existing(session_id, user_id, version=version)
        return [decode(event) for event in await self._store.read_stream(stream, until=version)]

    async def _version_of(self, session_id: str, point: Point, user_id: str | None) -> int | None:
        """Return the version that *point* means; none if it is a config."""
        match point:
            case bool():
                raise InvalidInput("bad_version", "is a version, a moment or a config", field="point")
            case int():
                return (await self.get_state(session_id, version=point, user_id=user_id)).version
            case datetime() | str():
                return (await self.get_state(session_id, at=point, user_id=user_id)).version
            case _:
                return None


def _names_in(without: Any) -> list[str | int]:
    listed = isinstance(without, Iterable) and not isinstance(without, str | bytes)
    names: list[Any] = list(without) if listed else []
    if not listed or not all(isinstance(name, str | int) and not isinstance(name, bool) for name in names):
        raise InvalidInput("wrong_type", "is a list of entry ids or versions", field="without")
    return names


def _ids_of(names: Iterable[str | int], events: Sequence[RecordedEvent]) -> frozenset[str]:
    """Return the ids of the entries that *names*, ids or versions, mean.

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
