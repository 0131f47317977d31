"""The same memory without await: the same methods, inside and outside of an event loop, from many threads."""

import asyncio
import gc
import inspect
import pydoc
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from ledger.application.facade.blocking import Blocking
from ledger.errors import InvalidInput, SessionNotFound, Unavailable
from ledger.long_term_memory import LongTermMemory
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from ledger.sync import SyncLongTermMemory, SyncMemoryLedger
from tests.application.conftest import SMALL
from tests.application.test_refusals import ALL
from tests.support.databases import Server


def public(cls: type) -> set[str]:
    return {name for name in dir(cls) if not name.startswith("_")}


def spelled(method: Callable[..., Any]) -> str:
    return str(inspect.signature(method)).replace("AsyncIterator", "Iterator")


def differences(first: type, other: type) -> list[str]:
    """Return the methods that *other* lacks, has beside, or has with another signature or docstring than *first*."""
    shared = {name for name in public(first) & public(other) if inspect.isroutine(getattr(other, name))}
    shared -= {"open", "connect"}
    changed = {
        name
        for name in shared
        if spelled(getattr(first, name)) != spelled(getattr(other, name))
        or getattr(first, name).__doc__ != getattr(other, name).__doc__
    }
    return sorted((public(first) ^ public(other)) | changed)


def test_both_have_the_same_methods_with_the_same_signatures() -> None:
    assert differences(MemoryLedger, SyncMemoryLedger) == []
    assert len(public(SyncMemoryLedger)) >= 25
    opening = inspect.signature(MemoryLedger.open).parameters
    for method in (SyncMemoryLedger.open, MemoryLedger.connect, SyncMemoryLedger.connect):
        assert inspect.signature(method).parameters == opening


def test_long_term_memory_has_the_same_methods_but_those_of_a_service_a_worker_and_the_past() -> None:
    assert differences(LongTermMemory, SyncLongTermMemory) == ["over", "past", "writes_for_promotion"]


def test_a_method_that_is_missing_or_differs_is_noticed() -> None:
    """Negative control."""

    class Lacking(Blocking, of=MemoryLedger, without=frozenset({"compress", "long_term"})): ...

    class Beside(SyncMemoryLedger):
        def compact(self, session_id: str) -> None: ...

    class Renamed(SyncMemoryLedger):
        def clear_session(self, session: str, *, end: bool = False, user_id: str | None = None) -> int: ...  # type: ignore[empty-body]

    assert differences(MemoryLedger, Lacking) == ["compress", "long_term"]
    assert differences(MemoryLedger, Beside) == ["compact"]
    assert differences(MemoryLedger, Renamed) == ["clear_session"]


def test_help_shows_signature_and_docstring_and_dir_lists_the_names() -> None:
    shown = pydoc.plain(pydoc.render_doc(SyncMemoryLedger.add_entries))
    assert "entries: collections.abc.Sequence" in shown
    assert "Record a batch of 1 to 1,000 entries: all of them, or none." in shown
    assert "DuplicateEntry: an id is stored with other content." in shown
    assert str(inspect.signature(SyncMemoryLedger.open)).endswith("-> 'AbstractContextManager[SyncMemoryLedger]'")
    with SyncMemoryLedger.open(namespace="help", store=InMemoryStore()) as ledger:
        assert {"add_entries", "long_term", "what_if"} <= {*dir(ledger)}
        assert {"create", "forget"} <= {*dir(ledger.long_term)}
        assert "Yield a session" in pydoc.render_doc(ledger.export_file)


def a_day(ledger: SyncMemoryLedger) -> None:
    """Use every method once."""
    answers: list[str] = []
    off = ledger.on("entry:added", lambda session, entry: answers.append(entry.content))
    ledger.set_summarizer(None, lambda prompt: "Short.")
    ledger.update_config("s", SMALL)
    first = ledger.add_user_message("s", "message 1", tokens=10)
    ledger.add_assistant_message("s", "message 2", tokens=10)
    ledger.add_tool_call("s", "shell", {"command": "ls"}, tool_call_id="c1", tokens=10)
    ledger.add_tool_result("s", "shell", "x", tool_call_id="c1", tool_status="ok", tokens=10)
    context = ledger.add_context("s", "text", "README.md", tokens=10)
    ledger.edit_entry("s", first.entry_id, "another text")
    ledger.add_entries("s", [{"role": "user", "content": "message 6"}], expected_version=7)
    ledger.settle()
    off()
    until = time.monotonic() + 10
    while len(answers) < 6 and time.monotonic() < until:  # handlers run in threads of their own
        time.sleep(0.01)
    assert len(answers) == 6
    assert ledger.get_stats("s").summaries == 1
    ledger.remove_entry("s", context.entry_id)
    assert [entry.content for entry in ledger.get_active_entries("s")] == ["message 6"]
    ledger.add_entries("s", [{"role": "user", "content": f"message {number}"} for number in (7, 8)])
    assert ledger.compress("s", force=True).key == "token_threshold"
    assert [summary.text for summary in ledger.get_summaries("s")] == ["Short."] * 2
    version = ledger.get_state("s").version
    assert ledger.get_context("s").version == version == ledger.get_events("s")[-1].version
    assert ledger.get_context_for_llm("s", version=2) == "=== Recent Conversation ===\nUser: message 1"
    assert len(ledger.get_history("s", version=3).entries) == 2
    assert ledger.diff("s", 2, 3).after.version == 3
    assert [row.session_id for row in ledger.list_sessions()] == ["s"]
    exported = ledger.export_session("s")
    assert ledger.import_session("copy", exported).total_tokens == exported["totalTokens"]
    lines = list(ledger.export_file("s"))
    assert ledger.import_file(lambda: lines, session_id="file").sessions == 1
    assert ledger.import_conversations([]).sessions == 0
    assert ledger.clear_session("s") == version + 1
    assert ledger.verify().ok


def test_every_method_works_outside_of_an_event_loop(namespace: str) -> None:
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        a_day(ledger)


async def test_every_method_works_inside_of_an_event_loop(namespace: str) -> None:
    """As in a notebook."""
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        a_day(ledger)
    await asyncio.sleep(0)


@pytest.mark.postgres
def test_every_method_works_on_postgresql(server: Server, shared_database: str, namespace: str) -> None:
    with server.login("ledger_app") as login:
        url = server.url_of(login, shared_database)
        with SyncMemoryLedger.open(url, namespace) as ledger:
            a_day(ledger)


def test_errors_come_through_as_they_are(namespace: str) -> None:
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        with pytest.raises(InvalidInput) as refused:
            ledger.add_user_message("s", "")
        assert (refused.value.code, refused.value.field) == ("empty_content", "content")
        with pytest.raises(SessionNotFound):
            ledger.get_state("s")
        for name in ("I-49 entry 57 of 100", "I-45 stale", "N-5 two MiB", "compress", "a list of no rows"):
            refusal = ALL[name]
            with pytest.raises(refusal.error):
                refusal.act(ledger)  # type: ignore[arg-type] # the methods are the same
        assert ledger.list_sessions() == []


def test_many_threads_may_use_one_ledger(namespace: str) -> None:
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger, ThreadPoolExecutor(16) as pool:

        def work(number: int) -> str:
            added = ledger.add_user_message(f"session {number % 4}", f"message {number}", tokens=1)
            return added.hash

        hashes = set(pool.map(work, range(200)))
        assert len(hashes) == 200
        entries = [len(ledger.get_active_entries(f"session {number}")) for number in range(4)]
        texts = sorted(past.content for n in range(4) for past in ledger.get_history(f"session {n}").entries)
        assert texts == sorted(f"message {number}" for number in range(200))
        assert sum(entries) == 200
        assert ledger.verify().ok


def running() -> set[str]:
    return {thread.name for thread in threading.enumerate() if thread.is_alive()}


def test_closing_leaves_no_thread_behind(namespace: str) -> None:
    before = running()
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        ledger.add_user_message("s", "hello")
        assert running() - before, "there is one while it is open"
    assert running() <= before


def test_closing_finishes_what_is_under_way(namespace: str) -> None:
    store, started = InMemoryStore(), threading.Event()

    def slow(prompt: str) -> str:
        started.set()
        threading.Event().wait(0.1)
        return "Short."

    with SyncMemoryLedger.open(namespace=namespace, store=store, config=SMALL, summarizer=slow) as ledger:
        ledger.add_entries("s", [{"role": "user", "content": "many words " * 20}] * 6)
        assert started.wait(5)
    with SyncMemoryLedger.open(namespace=namespace, store=store) as ledger:
        assert [summary.text for summary in ledger.get_summaries("s")] == ["Short."]


def test_an_exception_of_the_body_closes_and_is_raised(namespace: str) -> None:
    before = running()
    with pytest.raises(ZeroDivisionError), SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()):
        raise ZeroDivisionError
    assert running() <= before


def test_after_closing_a_call_fails_at_once(namespace: str) -> None:
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        ledger.add_user_message("s", "hello")
    with pytest.raises(Unavailable, match="closed"):
        ledger.add_user_message("s", "hello again")


def test_an_export_may_be_given_up_in_the_middle(namespace: str) -> None:
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore()) as ledger:
        ledger.add_user_message("s", "hello")
        for line in ledger.export_file("s"):
            assert b"format_version" in line
            break
        assert len(list(ledger.export_file("s"))) == 4


def test_a_handler_runs_without_a_waiting_caller(namespace: str) -> None:
    answers = threading.Event()
    with SyncMemoryLedger.open(namespace=namespace, store=InMemoryStore(), config=SMALL) as ledger:
        ledger.on("compressed", lambda session, result: answers.set())
        ledger.add_entries("s", [{"role": "user", "content": "many words " * 20}] * 6)
        assert answers.wait(5)


def test_two_ledgers_of_one_process_see_each_other(namespace: str) -> None:
    store = InMemoryStore()
    with (
        SyncMemoryLedger.open(namespace=namespace, store=store) as first,
        SyncMemoryLedger.open(namespace=namespace, store=store) as other,
    ):
        first.add_user_message("s", "hello")
        other.add_assistant_message("s", "hi")
        assert first.get_context_for_llm("s") == other.get_context_for_llm("s")
        assert first.get_stats("s").total_entries == 2


def test_a_handler_may_use_the_ledger() -> None:
    seen: list[int] = []
    with SyncMemoryLedger.open(namespace="sync", store=InMemoryStore()) as ledger:
        end = ledger.on("entry:added", lambda session, entry: seen.append(ledger.get_stats(session).total_entries))
        ledger.add_user_message("s", "one")
        ledger.add_user_message("s", "two")
        end()
        ledger.add_user_message("s", "three")
    assert sorted(seen) in ([1, 2], [2, 2], [1, 3], [2, 3], [3, 3]), "they run beside the adding, and each other"


def test_a_handler_that_still_runs_when_the_ledger_closes_may_use_it() -> None:
    seen: list[int] = []

    def slow(session: str, entry: object) -> None:
        time.sleep(0.2)
        seen.append(ledger.get_stats(session).total_entries)

    with SyncMemoryLedger.open(namespace="sync", store=InMemoryStore()) as ledger:
        ledger.on("entry:added", slow)
        ledger.add_user_message("s", "one")
    assert seen == [1]


def test_what_runs_on_the_event_loop_cannot_wait_for_it() -> None:
    refused: list[InvalidInput] = []

    async def handler(session: str, entry: object) -> None:
        with pytest.raises(InvalidInput, match="cannot wait for the same ledger") as refusal:
            ledger.get_stats(session)
        refused.append(refusal.value)

    with SyncMemoryLedger.open(namespace="sync", store=InMemoryStore()) as ledger:
        ledger.on("entry:added", handler)
        ledger.add_user_message("s", "one")
        with pytest.raises(InvalidInput, match="read the lines of an import before it starts"):
            ledger.import_file(lambda: ledger.export_file("s"), session_id="copy")
    assert [refusal.code for refusal in refused] == ["wrong_thread"]


def test_an_interrupted_call_ends_alone(request: pytest.FixtureRequest) -> None:
    """As with Ctrl-C: the waiting thread gets the exception, and the ledger goes on."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # in the background it is ignored
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    started, go_on, waiting = threading.Event(), threading.Event(), threading.get_ident()

    def slow(prompt: str) -> str:
        started.set()
        go_on.wait(10)
        return "Short."

    def interrupt() -> None:
        started.wait(10)
        signal.pthread_kill(waiting, signal.SIGINT)

    with SyncMemoryLedger.open(namespace="sync", store=InMemoryStore(), config=SMALL, summarizer=slow) as ledger:
        ledger.add_entries("s", [{"role": "user", "content": "message", "tokens": 10}] * 4)
        with ThreadPoolExecutor(1) as pool:
            pool.submit(interrupt)
            with pytest.raises(KeyboardInterrupt):
                ledger.compress("s", force=True)
        assert ledger.get_stats("s").summaries == 0
        go_on.set()
        ledger.settle()
        assert ledger.get_stats("s").summaries == 1


def test_closing_while_threads_call_leaves_none_of_them_waiting() -> None:
    def write(number: int) -> int:
        for done in range(100_000):
            try:
                ledger.add_user_message(f"s{number}", "hello")
            except Unavailable:
                return done
        raise AssertionError("the ledger was never closed")

    for pause_s in (0.0, 0.001, 0.01, 0.05):
        with ThreadPoolExecutor(8) as pool:
            with SyncMemoryLedger.open(namespace="sync", store=InMemoryStore()) as ledger:
                writers = [pool.submit(write, number) for number in range(8)]
                time.sleep(pause_s)
            for writer in writers:
                writer.result(timeout=10)
        gc.collect()  # a task that was never begun fails the test


def test_a_call_that_comes_too_late_to_start_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    with ThreadPoolExecutor(1) as pool:
        with SyncMemoryLedger.open(namespace="sync", store=InMemoryStore()) as ledger:
            loop, came = ledger._thread.loop(), threading.Event()
            monkeypatch.setattr(loop, "_start", lambda *call: came.set())  # as if the loop had just ended
            late = pool.submit(ledger.verify)
            assert came.wait(10)
        with pytest.raises(Unavailable, match="closed"):
            late.result(timeout=10)


NEVER_CLOSED = """
import atexit
from ledger import InMemoryStore, SyncMemoryLedger

opening = SyncMemoryLedger.open(namespace="sync", store=InMemoryStore())
ledger = opening.__enter__()
ledger.on("entry:added", lambda session, entry: print("stored", entry.content))
atexit.register(lambda: ledger.add_user_message("s", "last words"))
"""


@pytest.mark.processes
def test_a_ledger_that_was_never_closed_is_closed_when_the_program_ends() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", NEVER_CLOSED], capture_output=True, text=True, timeout=30, check=False
    )
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, "stored last words\n", "")


async def test_a_closed_ledger_refuses_calls() -> None:
    async with MemoryLedger.open(namespace="closed", store=InMemoryStore()) as ledger:
        await ledger.add_user_message("s", "one")
    with pytest.raises(Unavailable, match="closed"):
        await ledger.add_user_message("s", "two")
