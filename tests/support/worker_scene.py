"""Sessions of the working-memory API, written as its routes write them, and what became of them."""

import json
from collections.abc import Sequence
from typing import Any

from ledger.application.services import Services
from ledger.events import Event, Extraction, MemoryAdded, MemoryFields, RecordedEvent
from ledger.events.clock import SystemClock
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.history.snapshots import SESSIONS
from ledger.history.state_loading import States
from ledger.llm.summarizers import SummarizerChoice
from ledger.long_term_memory import LongTermMemory, RecordSearch, records_stream
from ledger.long_term_memory.record_results import LongTermRecord
from ledger.ports import Store
from ledger.ports.event_encoding import append_request
from ledger.session.commands import ChangeConfig
from ledger.worker import Worker, WorkerSettings, load_worker_settings
from ledger.worker.namespace_jobs import WorkedNamespace
from tests.support.ledgers import ledger_over
from tests.support.model_endpoint import Behaviour, says

CLIENTS = {"profile": "working_memory"}
OSLO = {"text": "Mia lives in Oslo", "type": "semantic", "topics": ["home"], "entities": ["Mia", "Oslo"]}
TRIP = {"text": "Mia flew to Rome on 3 May 2026", "type": "episodic", "event_date": "2026-05-03"}


def finds(*memories: dict[str, Any]) -> Behaviour:
    """Let the model answer with *memories*."""
    return says(json.dumps({"memories": memories}))


def at_once(**changes: Any) -> WorkerSettings:
    """Return settings that wait for nothing."""
    chosen = {"extraction_debounce_seconds": 0, "poll_s": 0.01, "retry_s": 0.01, "grace_s": 5, **changes}
    return load_worker_settings(**chosen)


class LoneWorker(Worker):
    """A worker with services of its own, which close with it and give up what is under way."""

    async def stop(self) -> None:
        """See `Worker.stop`."""
        await super().stop()
        await self._services.compactor.close(grace_s=0)
        await self._services.close()


def worker(store: Store, namespace: str, model: SummarizerChoice = None, **changes: Any) -> LoneWorker:
    """Return a worker for one namespace that waits for nothing."""
    lease_s = changes.pop("compaction_lease_s", 600.0)
    services = Services(store, summarizer=model, compaction_lease_s=lease_s, summarizer_timeout_s=5)
    return LoneWorker(services, settings=at_once(**changes), namespaces=[namespace])


def worked(store: Store, namespace: str, model: SummarizerChoice = None) -> WorkedNamespace:
    """Return a namespace as a worker of its own sees it."""
    return worker(store, namespace, model)._worked(namespace)


async def work(store: Store, namespace: str, model: SummarizerChoice = None, **changes: Any) -> int:
    """Let a worker do all that is due in one namespace, and return how many attempts ended well."""
    lone_worker = worker(store, namespace, model, **changes)
    try:
        return await lone_worker.run_once()
    finally:
        await lone_worker.stop()


class Scene:
    """One session in a namespace, and its long-term memory."""

    def __init__(self, store: Store, namespace: str, *, user: str | None = "mia", session: str = "s") -> None:
        self.store = store
        self.namespace = namespace
        self.user = user
        self.stream = Stream.of(namespace, session, user)
        self.ledger = ledger_over(store, namespace=namespace, config=CLIENTS)
        self.memory = LongTermMemory(store, namespaces=[namespace], default_namespace=namespace)

    async def say(self, *texts: str) -> None:
        """Add messages of the user."""
        for text in texts:
            await self.ledger.add_user_message("s", text, user_id=self.user)

    async def choose(self, strategy: str, **config: Any) -> None:
        """Choose how memories are made."""

        async def commands(state: object) -> Sequence[ChangeConfig]:
            return [ChangeConfig("w", extraction=Extraction(strategy, config))]

        await self.ledger._handle.write(self.stream, commands)

    async def append(self, *events: Event) -> None:
        """Append events as they are."""
        state = await States(self.store, SESSIONS).current(self.stream)
        request = append_request(self.stream, events, expected_version=state.version, clock=SystemClock(), actor="")
        await self.store.events.append(request)

    async def note(self, memory_id: str, text: str, **fields: Any) -> int:
        """Add a memory to the session, and return its version."""
        await self.append(MemoryAdded(write_id="w", memory_id=memory_id, fields=MemoryFields(text, **fields)))
        return (await self.store.events.head(self.stream))[0]

    async def decoded(self) -> list[RecordedEvent]:
        """Return the session's events."""
        return [decode(stored) for stored in await self.store.events.read_stream(self.stream)]

    async def events(self, type_: str) -> list[Any]:
        """Return what the session's events of a type say."""
        return [event.payload for event in await self.decoded() if event.type == type_]

    async def record_events(self) -> list[RecordedEvent]:
        """Return the events of the user's records."""
        return [
            decode(event) for event in await self.store.events.read_stream(records_stream(self.namespace, self.user))
        ]

    async def records(self) -> list[LongTermRecord]:
        """Return what long-term memory holds, oldest first."""
        page = await self.memory.search(RecordSearch(limit=100))
        return sorted((memory.record for memory in page.memories), key=lambda item: item.text)

    async def texts(self) -> list[str]:
        """Return what long-term memory says."""
        return [record.text for record in await self.records()]

    async def flags(self) -> list[bool]:
        """Return, for each active message, whether memories were extracted from it."""
        state = await States(self.store, SESSIONS).current(self.stream)
        marked = {version for first, last in state.working.flags.extracted for version in range(first, last + 1)}
        return [entry.version in marked for entry in state.window.entries]
