"""What another server keeps, brought here: each session as one write, each page of records as another.

It may be repeated: what is unchanged is left alone, what changed over there is brought up to date, and what somebody
has gone on with here stays as it is.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from ledger.application.handle import NamespaceHandle
from ledger.application.log import get_log
from ledger.application.services import Services, open_services
from ledger.application.working_memory import current_state, put_working_memory
from ledger.errors import InvalidInput, LedgerError, PreconditionFailed, RecordNotFound, SessionNotFound
from ledger.events import JsonObject
from ledger.long_term_memory import LongTermMemory
from ledger.names import DEFAULT_NAMESPACE, check_name
from ledger.ports import Store
from ledger.results import Precondition
from ledger.server.ams_import.source import AmsSource
from ledger.server.compat import shapes
from ledger.server.compat.bodies import WorkingMemoryBody, check_body
from ledger.server.compat.limits import ContextLimit, new_session_config
from ledger.server.settings import ServiceSettings
from ledger.session.state import SessionState
from ledger.settings import Settings
from ledger.summarizers.heuristic import Heuristic

#: Who the events say wrote them; by it a repetition knows what nobody has gone on with.
ACTOR: Final = "import-ams"
#: What the server does by itself; it is no going on.
_OWN: Final = ("compaction.", "context.rendered", "entries.extracted", "entries.indexed", "memory.promoted")
#: What is kept with a session, and what stands for its absence.
_KEPT: Final[JsonObject] = {
    "data": {},
    "context": None,
    "tokens": 0,
    "ttl_seconds": None,
    "long_term_memory_strategy": {"strategy": "discrete", "config": {}},
}
_NO_LIMIT: Final = ContextLimit()
_LOG_PAGE: Final = 1_000

ImportProgress = Callable[[int, int], None]


class Refusal(msgspec.Struct, frozen=True, kw_only=True):
    """What was not taken over, and why: a session, or a record."""

    id: str
    code: str
    message: str


class AmsImportResult(msgspec.Struct, kw_only=True):
    """What became of what the other server keeps."""

    sessions: int = 0
    messages: int = 0
    memories: int = 0
    unchanged: int = 0
    continued: int = 0
    records: int = 0
    known_records: int = 0
    refused: list[Refusal] = msgspec.field(default_factory=list)


class AmsImport:
    """Takes sessions and records over into a store; made by `open`."""

    def __init__(self, services: Services, settings: ServiceSettings) -> None:
        self._services = services
        self._settings = settings
        self._clock = services.clock

    @classmethod
    @asynccontextmanager
    async def open(
        cls, settings: Settings, service_settings: ServiceSettings, *, store: Store | None = None
    ) -> "AsyncIterator[AmsImport]":
        """Open the store that *settings* name, unless one is given.

        Raises:
            DatabaseUnavailable, MigrationNeeded, UnsafeDatabase, UnsafeRole: the database cannot be used.
        """
        async with open_services(settings, store=store, summarizer=Heuristic()) as services:
            yield cls(services, service_settings)

    async def take(
        self,
        source: AmsSource,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        dry_run: bool = False,
        progress: ImportProgress = lambda done, total: None,
    ) -> AmsImportResult:
        """Take over everything, or what is of *namespace* and *user_id*; a dry run only says what would come.

        A session is taken over whole or not at all; one that cannot be is told of, and the others go on.

        Raises:
            Unavailable: the other server, or the database, cannot be used; what is done by then stays.
            NotAllowed: the other server wants another token.
        """
        done = AmsImportResult()
        owners: dict[str, set[tuple[str | None, str | None]]] = {}
        async for page in source.records(namespace=namespace, user_id=user_id):
            named = [each for each in page if _is_named(each, done)]
            for each in named:
                if each.get("session_id") is not None:
                    owners.setdefault(each["session_id"], set()).add((each.get("namespace"), each.get("user_id")))
            await self._take_records(named, done, dry_run=dry_run)
        ids = await source.session_ids(namespace=namespace, user_id=user_id)
        for number, (session_id, times) in enumerate(Counter(ids).items()):
            progress(number, len(set(ids)))
            places = [(namespace, user_id), *sorted(owners.get(session_id, ()), key=repr)]
            await self._take_session(source, session_id, times, places, done, dry_run=dry_run)
        return done

    async def _take_session(
        self,
        source: AmsSource,
        session_id: str,
        times: int,
        places: Sequence[tuple[str | None, str | None]],
        done: AmsImportResult,
        *,
        dry_run: bool,
    ) -> None:
        """Take over the session, or the several of that id; a server may want names that its list does not give."""
        seen: set[tuple[str, str]] = set()
        for namespace, user_id in places:
            shown = None
            if len(seen) < times and (repr(namespace), repr(user_id)) not in seen:
                shown = await source.session(session_id, namespace=namespace, user_id=user_id)
            if shown is None:
                continue
            names = repr(shown.get("namespace")), repr(shown.get("user_id"))
            if names in seen:
                continue
            seen.add(names)
            try:
                await self._bring(session_id, shown, done, dry_run=dry_run)
            except (InvalidInput, PreconditionFailed) as fault:
                done.refused.append(Refusal(id=session_id, code=fault.code, message=str(fault)))
        if len(seen) < times:
            message = "is listed, and not found by its id alone; name its --namespace and --user"
            done.refused.append(Refusal(id=session_id, code="not_found", message=message))

    async def _bring(self, session_id: str, shown: JsonObject, done: AmsImportResult, *, dry_run: bool) -> None:
        sent = _body(shown)
        check_body(
            sent,
            now=self._clock.now(),
            future_s=self._settings.max_future_timestamp_seconds,
            timestamps=self._settings.require_message_timestamps,
        )
        user_id = check_name(sent.user_id or "", field="user_id", may_be_empty=True)
        check_name(session_id, field="session_id")
        handle = self._services.handle(sent.namespace or DEFAULT_NAMESPACE, ACTOR)
        state = await current_state(handle, session_id, user_id=user_id)
        if state.version and _same(self._shown(state, session_id, sent), shown):
            done.unchanged += 1
            return
        if state.version and await _continued(handle, session_id, user_id):
            done.continued += 1
            return
        live = state.is_live(self._clock.now())
        if not dry_run:
            await put_working_memory(
                handle,
                session_id,
                sent.body(),
                config=new_session_config(self._settings),
                when=Precondition(strict=True, version=state.version) if live else Precondition(absent=True),
                compact=False,
                user_id=user_id,
            )
        done.sessions += 1
        done.messages += len(sent.messages)
        done.memories += len(sent.memories)

    def _shown(self, state: SessionState, session_id: str, sent: WorkingMemoryBody) -> JsonObject:
        view = shapes.View(tuple(state.window.entries))
        return shapes.working_memory(
            state,
            view,
            _NO_LIMIT,
            session_id=session_id,
            namespace=sent.namespace or DEFAULT_NAMESPACE,
            user_id=sent.user_id or "",
            threshold=self._settings.summarization_threshold,
        )

    async def _take_records(self, page: Sequence[JsonObject], done: AmsImportResult, *, dry_run: bool) -> None:
        """Add the records of a page that are not known; one that was changed or deleted here stays so."""
        namespaces = sorted({each.get("namespace") or DEFAULT_NAMESPACE for each in page})
        memory = self._services.long_term.over(namespaces, actor=ACTOR)
        new: list[JsonObject] = []
        for each in page:
            try:
                if await _is_known(memory, each.get("id")):
                    done.known_records += 1
                else:
                    new.append({**each, "namespace": each.get("namespace") or DEFAULT_NAMESPACE})
            except InvalidInput as fault:
                done.refused.append(Refusal(id=str(each.get("id")), code=fault.code, message=str(fault)))
        if dry_run:
            done.records += len(new)
            return
        try:
            await memory.create(new, deduplicate=False)
            done.records += len(new)
        except InvalidInput:  # one of them is wrong: the others are taken by themselves
            for each in new:
                try:
                    await memory.create([each], deduplicate=False)
                    done.records += 1
                except InvalidInput as fault:
                    done.refused.append(Refusal(id=str(each.get("id")), code=fault.code, message=str(fault)))


def _is_named(record: JsonObject, done: AmsImportResult) -> bool:
    """Tell whether the names in *record* are names; note that it is refused if they are not."""
    try:
        for name in ("namespace", "user_id", "session_id"):
            if record.get(name) is not None:
                check_name(record[name], field=name, may_be_empty=True)
    except InvalidInput as fault:
        done.refused.append(Refusal(id=str(record.get("id")), code=fault.code, message=str(fault)))
        return False
    return True


async def _is_known(memory: LongTermMemory, record_id: Any) -> bool:
    try:
        return bool(await memory.history(record_id))
    except RecordNotFound:
        return False


async def _continued(handle: NamespaceHandle, session_id: str, user_id: str) -> bool:
    """Tell whether anybody but this command has written to the session."""
    after: int | None = 0
    while after is not None:
        try:
            page = await get_log(handle, session_id, after_version=after, limit=_LOG_PAGE, user_id=user_id)
        except SessionNotFound:
            return False
        if any(event.actor != ACTOR and not event.type.startswith(_OWN) for event in page.events):
            return True
        after = page.next_after
    return False


def _body(shown: JsonObject) -> WorkingMemoryBody:
    """Return a session that was read as the body that would write it.

    Raises:
        InvalidInput: ``bad_session``: it is none, or keeps to no rule of ours.
    """
    try:
        return WorkingMemoryBody.model_validate(shown)
    except ValidationError as refused:
        fault = refused.errors(include_url=False, include_input=False)[0]
        field = ".".join(str(part) for part in fault["loc"])
        raise InvalidInput("bad_session", fault["msg"].removeprefix("Value error, "), field=field) from None
    except LedgerError as fault:
        raise InvalidInput("bad_session", str(fault)) from None


def _same(ours: JsonObject, theirs: JsonObject) -> bool:
    """Tell whether two servers show one session: what was said, and all that was kept with it."""
    data = {name: value for name, value in (theirs.get("data") or {}).items() if value is not None}
    stored_fields = {name: theirs.get(name) or absent for name, absent in _KEPT.items()}
    return {name: ours[name] for name in _KEPT} == {**stored_fields, "data": data} and _identity_of(
        ours
    ) == _identity_of(theirs)


def _identity_of(shown: JsonObject) -> list[tuple[object, ...]]:
    messages = [(each.get("id"), each.get("role"), each.get("content")) for each in shown.get("messages") or ()]
    memories = [(each.get("id"), each.get("text"), each.get("memory_type")) for each in shown.get("memories") or ()]
    return [*messages, *memories]
