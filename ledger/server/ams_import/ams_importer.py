"""Import what another server stores: each session as one write, each page of records as another.

The import may be repeated. Unchanged sessions are skipped, sessions that changed in the source are updated, and
sessions that were continued here stay as they are.
"""

from collections import Counter
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

import msgspec
from pydantic import ValidationError

from ledger.application.auditing.stored_log import get_log
from ledger.application.handle import NamespaceHandle
from ledger.application.reading.session_reads import state_or_empty
from ledger.application.services import Services, open_services
from ledger.application.writing.put_working_memory import put_working_memory
from ledger.errors import InvalidInput, LedgerError, PreconditionFailed, RecordNotFound, SessionNotFound
from ledger.events import JsonObject
from ledger.events.names import DEFAULT_NAMESPACE, check_name
from ledger.llm.summarizers.extractive import Extractive
from ledger.long_term_memory import LongTermMemory
from ledger.ports import Store
from ledger.results import Precondition
from ledger.server.ams_import.ams_client import AmsSource, check_asked, of_caller
from ledger.server.compat import compat_answers
from ledger.server.compat.compat_bodies import WorkingMemoryBody, check_body
from ledger.server.compat.compat_limits import ContextLimit, new_session_config
from ledger.server.service_settings import ServiceSettings
from ledger.session.state import SessionState
from ledger.settings import Settings

#: The actor of the events; a repeated import recognises by it the sessions that were not continued here.
ACTOR: Final = "import-ams"
#: The events that the server writes by itself, which do not continue a session.
_AUTOMATIC: Final = ("compaction.", "context.rendered", "entries.extracted", "entries.indexed", "memory.promoted")
#: The fields of a session beside its messages and memories, and their values if absent.
_DEFAULTS: Final[JsonObject] = {
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
    """A session or record that was not imported, and why."""

    id: str
    code: str
    message: str


class AmsImportResult(msgspec.Struct, kw_only=True):
    """The counts of an import, and the refused items."""

    sessions: int = 0
    messages: int = 0
    memories: int = 0
    unchanged: int = 0
    continued: int = 0
    records: int = 0
    known_records: int = 0
    refused: list[Refusal] = msgspec.field(default_factory=list)

    def refuse(self, item_id: object, fault: LedgerError) -> None:
        """Add an item that was not imported because of *fault*."""
        self.refused.append(Refusal(id=str(item_id), code=fault.code, message=str(fault)))


class AmsImport:
    """Imports sessions and records into a store; `open` creates and closes it."""

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
        async with open_services(settings, store=store, summarizer=Extractive()) as services:
            yield cls(services, service_settings.with_model_of(settings))

    async def run(
        self,
        source: AmsSource,
        *,
        namespace: str | None = None,
        user_id: str | None = None,
        dry_run: bool = False,
        progress: ImportProgress = lambda done, total: None,
    ) -> AmsImportResult:
        """Import everything, or only the items of *namespace* and *user_id*; a dry run only counts.

        A session is imported completely or not at all; the result lists those that were refused.

        Raises:
            Unavailable: the other server or the database cannot be used; what was imported until then stays.
            NotAllowed: the other server needs another token.
        """
        done = AmsImportResult()
        owners: dict[str, set[tuple[str | None, str | None]]] = {}
        async for page in source.records(namespace=namespace, user_id=user_id):
            own = (of_caller(record, namespace, user_id) for record in page)
            records = [record for record in own if _has_valid_names(record, namespace, user_id, done)]
            for record in records:
                if record.get("session_id") is not None:
                    owner = record.get("namespace"), record.get("user_id")
                    owners.setdefault(record["session_id"], set()).add(owner)
            await self._import_records(records, done, dry_run=dry_run)
        ids = await source.session_ids(namespace=namespace, user_id=user_id)
        for number, (session_id, times) in enumerate(Counter(ids).items()):
            progress(number, len(set(ids)))
            places = [(namespace, user_id), *sorted(owners.get(session_id, ()), key=repr)]
            await self._import_session(source, session_id, times, places, done, dry_run=dry_run)
        return done

    async def _import_session(
        self,
        source: AmsSource,
        session_id: str,
        times: int,
        places: Sequence[tuple[str | None, str | None]],
        done: AmsImportResult,
        *,
        dry_run: bool,
    ) -> None:
        """Import all sessions with this id; a server may need names that its list does not show."""
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
            shown = of_caller(shown, *places[0])
            try:
                check_asked(shown, *places[0])
                await self._import_shown(session_id, shown, done, dry_run=dry_run)
            except (InvalidInput, PreconditionFailed) as fault:
                done.refuse(session_id, fault)
        if len(seen) < times:
            message = "it is listed, but not found by its id alone; pass its --namespace and --user"
            done.refused.append(Refusal(id=session_id, code="not_found", message=message))

    async def _import_shown(self, session_id: str, shown: JsonObject, done: AmsImportResult, *, dry_run: bool) -> None:
        sent = _body(shown)
        check_body(
            sent,
            now=self._clock.now(),
            future_s=self._settings.max_future_timestamp_seconds,
            timestamps=self._settings.require_message_timestamps,
        )
        user_id = check_name(sent.user_id or "", field="user_id", may_be_empty=True)
        check_name(session_id, field="session_id")
        handle = NamespaceHandle(self._services, sent.namespace or DEFAULT_NAMESPACE, ACTOR)
        state = await state_or_empty(handle, session_id, {"user_id": user_id})
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
        view = compat_answers.View(tuple(state.window.entries))
        return compat_answers.working_memory(
            state,
            view,
            _NO_LIMIT,
            session_id=session_id,
            namespace=sent.namespace or DEFAULT_NAMESPACE,
            user_id=sent.user_id or "",
            threshold=self._settings.summarization_threshold,
        )

    async def _import_records(self, page: Sequence[JsonObject], done: AmsImportResult, *, dry_run: bool) -> None:
        """Add the unknown records of a page; a record that was changed or deleted here stays so."""
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
                done.refuse(each.get("id"), fault)
        if dry_run:
            done.records += len(new)
            return
        try:
            await memory.create(new, deduplicate=False)
            done.records += len(new)
        except InvalidInput:  # one of them is wrong: add each by itself
            for each in new:
                try:
                    await memory.create([each], deduplicate=False)
                    done.records += 1
                except InvalidInput as fault:
                    done.refuse(each.get("id"), fault)


def _has_valid_names(record: JsonObject, namespace: str | None, user_id: str | None, done: AmsImportResult) -> bool:
    """Return whether the names in *record* are valid, and those asked for; add it to the refused items if not."""
    try:
        check_asked(record, namespace, user_id)
        for name in ("namespace", "user_id", "session_id"):
            if record.get(name) is not None:
                check_name(record[name], field=name, may_be_empty=True)
    except InvalidInput as fault:
        done.refuse(record.get("id"), fault)
        return False
    return True


async def _is_known(memory: LongTermMemory, record_id: Any) -> bool:
    try:
        return bool(await memory.history(record_id))
    except RecordNotFound:
        return False


async def _continued(handle: NamespaceHandle, session_id: str, user_id: str) -> bool:
    """Return whether anyone but this import has written to the session."""
    after: int | None = 0
    while after is not None:
        try:
            page = await get_log(handle, session_id, after_version=after, limit=_LOG_PAGE, user_id=user_id)
        except SessionNotFound:
            return False
        if any(event.actor != ACTOR and not event.type.startswith(_AUTOMATIC) for event in page.events):
            return True
        after = page.next_after
    return False


def _body(shown: JsonObject) -> WorkingMemoryBody:
    """Return a session of the source as the body of a PUT.

    Raises:
        InvalidInput: ``bad_session``: it is not a session, or breaks a rule of this server.
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
    """Return whether both servers show the same session: its messages, memories and other fields."""
    data = {name: value for name, value in (theirs.get("data") or {}).items() if value is not None}
    expected = {**{name: theirs.get(name) or default for name, default in _DEFAULTS.items()}, "data": data}
    return all(ours[name] == expected[name] for name in _DEFAULTS) and _items(ours) == _items(theirs)


def _items(shown: JsonObject) -> list[tuple[object, ...]]:
    messages = [(each.get("id"), each.get("role"), each.get("content")) for each in shown.get("messages") or ()]
    memories = [(each.get("id"), each.get("text"), each.get("memory_type")) for each in shown.get("memories") or ()]
    return [*messages, *memories]
