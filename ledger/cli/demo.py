"""The command ``demo``: record a realistic session, compact it, travel back, copy it, and prove it."""

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import psycopg
import typer
from psycopg import sql

from ledger.application.examples import examples_folder
from ledger.cli.app import app, command, options, run
from ledger.cli.output import Output, one_line
from ledger.events.codec import decode
from ledger.events.ids import Stream
from ledger.formats.importers import Conversation, documents, read
from ledger.llm.compaction.compaction_result import CompactionResult
from ledger.memory import MemoryLedger
from ledger.results import Context
from ledger.session.evolve import SESSION
from ledger.stores.embedded.server import DATABASE, EmbeddedServer
from ledger.stores.factory import prepare
from ledger.stores.postgres import PostgresStore, Target
from ledger.verification import VerifyReport, verify_namespace
from projections.entries import Entry

_CONFIG: Final = {"maxEntries": 50, "recentWindow": 15}
_SESSION: Final = "coding-agent"
_COPY: Final = "coding-agent-copy"
_NAMESPACE: Final = "demo"
#: The beginnings of the developer's first message, and of her question about it at the end of the day.
_RULES, _QUESTION = "Morning. Four things", "Tomasz is at the door"
_OTHERS: Final[dict[str, dict[str, Any]]] = {
    "full": {"profile": "none"},
    "max_tokens": {"window": {"type": "max_tokens", "memory_max_tokens": 2_000}},
    "recall": {"window": {"type": "recall", "max_tokens": 2_000}},
}
_NEXT: Final = "memory-ledger add SESSION TEXT, memory-ledger import FILE, memory-ledger --help"


@command(app, unused=("database_url", "data_dir", "namespace"))
def demo() -> None:
    """Show the main job on an example transcript, in a temporary embedded PostgreSQL."""
    opts = options()
    with _server() as server:
        found = run(lambda: _run_steps(opts.output, server))
        _tamper(opts.output, server, found)
        report = run(lambda: _verify_copy(opts.output, server))
    found["tampering_found"] = [finding.problem for finding in report.findings]
    opts.output.result(found, lambda: _step(opts.output, "Now yours", _NEXT))
    if not (found["equal"] and found["verdict"] == "OK-CHAINED" and report.findings):
        raise typer.Exit(1)


async def _run_steps(output: Output, server: EmbeddedServer) -> dict[str, Any]:
    store = await PostgresStore.open(Target(server.url, embedded=True))
    try:
        async with MemoryLedger.open(namespace=_NAMESPACE, store=store, config=_CONFIG) as ledger:
            (conversation,) = read(documents(example().read_bytes()), name=_SESSION)
            facts = await _record(output, ledger, conversation)
            await _show_context(output, ledger)
            await _travel(output, ledger, facts["compacted_at"])
            facts["shows_the_rules"] = await _try_others(output, ledger)
            facts["replayed_equal"] = await _clear_and_replay(output, ledger, store)
            facts["equal"] = await _copy(output, ledger) and facts["replayed_equal"]
            report = await ledger.verify()
            _step(output, "Prove", "every hash recomputed from the stored bytes, every position checked")
            output.tell(f"  {report.verdict}: {report.checked} events", "green")
            return {**facts, "verdict": report.verdict, "checked": report.checked}
    finally:
        await store.close()


async def _record(output: Output, ledger: MemoryLedger, conversation: Conversation) -> dict[str, Any]:
    """Add the conversation message by message, and print each compaction as it happens."""
    _step(
        output,
        "Record",
        f"a coding agent's day, message by message; above {_CONFIG['maxEntries']} active entries the older ones "
        "leave the window",
    )
    done: list[CompactionResult] = []
    unsubscribe = ledger.on("compressed", lambda session, result: done.append(result))
    entries = shown_results = 0
    compacted_at: list[int] = []
    with output.progress("Recording", "messages") as progress:
        for number, batch in enumerate(conversation.batches, start=1):
            added = await ledger.add_entries(_SESSION, batch)
            entries += len(added.entries)
            await ledger.settle()
            progress(number, len(conversation.batches))
            for result in done[shown_results:]:
                compacted_at.append(added.version)
                output.tell(
                    f"  after entry {entries:>3}: {result.entries_compressed} entries → one summary, "
                    f"{result.tokens_before:,} → {result.tokens_after:,} tokens",
                    "yellow",
                )
            shown_results = len(done)
    unsubscribe()
    stats = await ledger.get_stats(_SESSION)
    shown = (await ledger.get_context(_SESSION)).tokens
    everything = sum(entry.tokens for entry in (await ledger.get_history(_SESSION)).entries)
    output.tell(
        f"  {stats.total_entries} entries of {everything:,} tokens recorded; the model is shown "
        f"{stats.active_entries} entries and {stats.summaries} summaries, {shown:,} tokens"
    )
    return {"entries": entries, "tokens": everything, "shown_tokens": shown, "compacted_at": compacted_at}


async def _show_context(output: Output, ledger: MemoryLedger) -> None:
    _step(output, "Context", "what a model is shown now")
    _print_context(output, await ledger.get_context(_SESSION), summaries=9, first=1, last=4)


async def _travel(output: Output, ledger: MemoryLedger, compacted_at: list[int]) -> None:
    """Show what the model saw before the first compaction, and before the last."""
    for version, which in ((compacted_at[0] - 1, "first"), (compacted_at[-1] - 1, "last")):
        _step(
            output, "Travel back", f"to version {version}, just before the {which} compaction: what the model saw then"
        )
        context = await ledger.get_context(_SESSION, version=version)
        output.tell(f"  {len(context.entries)} entries, {len(context.summaries)} summaries, {context.tokens:,} tokens")
        _print_context(output, context, summaries=1, first=3, last=2)


async def _try_others(output: Output, ledger: MemoryLedger) -> dict[str, bool]:
    """Replay the session under other memory configs, up to the question about its first message."""
    history = list((await ledger.get_history(_SESSION)).entries)
    rules, question = (
        next(entry for entry in history if entry.content.startswith(words)) for words in (_RULES, _QUESTION)
    )
    _step(output, "What if", f"at version {question.version} the developer asks what she said first")
    output.tell(f"    user      {one_line(question.content, max(40, output.console.width - 20))}", "dim")
    recorded = await ledger.get_context(_SESSION, version=question.version)
    windows = {"as recorded": recorded.window}
    for name, config in _OTHERS.items():
        windows[name] = (await ledger.what_if(_SESSION, config, version=question.version)).window
    shown = {name: rules.version in {entry.version for entry in window.entries} for name, window in windows.items()}
    for name, window in windows.items():
        has = "her words are in the window" if shown[name] else "her words are not in the window"
        output.tell(f"  {name:<12} {window.tokens:>6,} tokens shown: {has}", "green" if shown[name] else "yellow")
    return shown


async def _clear_and_replay(output: Output, ledger: MemoryLedger, store: PostgresStore) -> bool:
    """Clear the session, then fold its events again from the first."""
    before = await ledger.get_state(_SESSION)
    version = await ledger.clear_session(_SESSION)
    _step(output, "Clear", f"version {version}: the window is empty, the history is not")
    events = await store.events.read_stream(Stream.of(_NAMESPACE, _SESSION), until=version - 1)
    replayed = SESSION.fold(decode(event) for event in events)
    same = (replayed.window, replayed.summaries) == (before.window, before.summaries)
    output.tell(f"  {len((await ledger.get_context(_SESSION)).entries)} entries shown now")
    output.tell(
        f"  {len(events)} events folded again: {len(replayed.window.entries)} entries, "
        f"{len(replayed.summaries.live)} summaries, {'equal to' if same else 'NOT equal to'} the state before",
        "green" if same else "bold red",
    )
    return same


async def _copy(output: Output, ledger: MemoryLedger) -> bool:
    """Export the session, import it under another name, and compare both."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "session.jsonl"
        lines = [line async for line in ledger.export_file(_SESSION)]
        file.write_bytes(b"".join(lines))
        done = await ledger.import_file(lambda: file.read_bytes().splitlines(keepends=True), session_id=_COPY)
    _step(output, "Take along", f"{len(lines)} lines exported; {done.entries} entries imported as {_COPY}")
    version = (await ledger.get_state(_SESSION)).version - 1
    digests = [_digest(await ledger.get_context(name, version=version)) for name in (_SESSION, _COPY)]
    for name, digest in zip((_SESSION, _COPY), digests, strict=True):
        output.tell(f"  {name:<18} context at version {version}: sha256 {digest[:32]}…")
    same = digests[0] == digests[1]
    output.tell("  equal" if same else "  NOT equal", "green" if same else "bold red")
    return same


def _tamper(output: Output, server: EmbeddedServer, facts: dict[str, Any]) -> None:
    """Copy the database and change one message in the copy, as only a superuser can."""
    _step(output, "Tamper", "in a copy of the database, as superuser and without its trigger, one message is rewritten")
    with psycopg.connect(server.url.replace(f"/{DATABASE}?", "/postgres?"), autocommit=True) as connection:
        statement = sql.SQL("CREATE DATABASE tampered TEMPLATE {}").format(sql.Identifier(DATABASE))
        connection.execute(statement)
    with psycopg.connect(server.url.replace(f"/{DATABASE}?", "/tampered?"), autocommit=True) as connection:
        connection.execute("ALTER TABLE ledger.events DISABLE TRIGGER events_append_only")
        changed = connection.execute(
            """
            UPDATE ledger.events e SET content = overlay(content PLACING 'X'::bytea FROM octet_length(content) / 2)
            WHERE e.version = 20 AND e.stream_id = %s
            """,
            (Stream.of(_NAMESPACE, _SESSION).stream_id,),
        )
        connection.execute("ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER events_append_only")
        output.tell(f"  {changed.rowcount} row changed: the content of version 20")
    facts["tampered_version"] = 20


async def _verify_copy(output: Output, server: EmbeddedServer) -> VerifyReport:
    url = server.url.replace(f"/{DATABASE}?", "/tampered?")
    store = await PostgresStore.open(Target(url, embedded=True))
    try:
        report = await verify_namespace(store, _NAMESPACE)
    finally:
        await store.close()
    output.tell(f"  {report.verdict}", "bold red" if report.findings else "green")
    for finding in report.findings:
        output.tell(f"  {finding.session_id} version {finding.version}: {finding.problem}", "red")
    return report


def _print_context(output: Output, context: Context, *, summaries: int, first: int, last: int) -> None:
    """Print the beginnings of some summaries and of the first and last entries."""
    width = max(40, output.console.width - 6)
    for summary in context.summaries[:summaries]:
        head = " / ".join(summary.text.splitlines()[1:])
        output.tell(f"    summary of {summary.entry_count} entries: {one_line(head, width - 24)}", "dim")
    entries = context.entries
    _print_entries(output, entries[:first], width)
    output.tell(f"    … {len(entries) - first - last} more entries …", "dim")
    _print_entries(output, entries[-last:], width)


def _print_entries(output: Output, entries: Sequence[Entry], width: int) -> None:
    for entry in entries:
        output.tell(f"    {entry.role:<9} {one_line(entry.content, width - 14)}", "dim")


def _step(output: Output, title: str, text: str) -> None:
    output.tell(f"\n{title}: {text}", "bold")


def _digest(context: Context) -> str:
    return sha256(context.text.encode()).hexdigest()


def example() -> Path:
    """Return the example transcript."""
    return examples_folder() / "coding_agent.jsonl"


@contextmanager
def _server() -> Iterator[EmbeddedServer]:
    folder = Path(tempfile.mkdtemp(prefix="memory-ledger-demo-"))
    server = EmbeddedServer(folder)
    try:
        prepare(server)
        yield server
    finally:
        server.stop()
        shutil.rmtree(folder, ignore_errors=True)
