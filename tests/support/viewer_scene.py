"""Sessions that have everything that the viewer shows, in a ledger of memory."""

import asyncio
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final, TypeVar

from ledger.events import JsonObject
from ledger.memory import MemoryLedger
from ledger.server.access.callers import SCOPES, Caller
from ledger.server.ui.one_file import one_file
from ledger.server.view_service import answers_of
from ledger.stores.in_memory import InMemoryStore
from tests.server.conftest import Running, running

T = TypeVar("T")

#: Its old entries are compacted, without a model; of the active ones the window shows the newest.
CONFIG: Final = {
    "window": {"type": "max_tokens", "memory_max_tokens": 120},
    "compactions": [{"type": "token_threshold", "max_tokens": 220, "recent_window": 6, "max_summary_tokens": 60}],
}
OTHER: Final = {"window": {"type": "recall", "max_tokens": 2_000}}

#: Content that would do something if anything read it as more than text.
HOSTILE: Final = (
    "<script>window.hacked = 1</script>",
    '<img src="https://evil.example/x.png" onerror="window.hacked = 2">',
    "<svg onload='window.hacked = 3'><use href='https://evil.example/a.svg#x'/></svg>",
    "[click](javascript:window.hacked=4) javascript:window.hacked=5",
    "</script><script>window.hacked = 6</script><!-- --!>",
    "\x1b[31mred\x1b[0m \x1b]8;;https://evil.example\x07link\x1b]8;;\x07",
    "\u202egnp.exe\u202c \u2066isolated\u2069 zero\u200bwidth two\r\nlines one\rover \U000e0041\U000e0042 tags",
    '{"__proto__": {"hacked": 7}, "constructor": null} \\u0000 \u2028 \u2029',
    "<base href='https://evil.example/'><meta http-equiv=refresh content='0;url=https://evil.example'>",
    "![x](https://evil.example/y.png) https://evil.example/plain",
    "a long line " + "x" * 100_000,
)


@contextmanager
def viewed_service() -> Iterator[Running]:
    """Run a service whose ledger has the sessions ``trip`` (with the fork ``trip-again``) and ``hostile``."""
    with running(InMemoryStore()) as service:
        on_loop(service, _fill(ledger_of(service)))
        yield service


async def _fill(ledger: MemoryLedger) -> None:
    await ledger.update_config("trip", CONFIG, replace=True)
    await ledger.add_entries("trip", [{"role": "system", "content": "You help with travel. Answer briefly."}])
    for day in range(1, 13):
        await ledger.add_user_message(
            "trip", f"Day {day}: which museum opens early in the old town, and what is its price?"
        )
        await ledger.add_tool_call("trip", "search", {"query": f"museums day {day}"}, tool_call_id=f"c{day}")
        await ledger.add_tool_result("trip", "search", f"museum {day}: opens at 9, {day} euros", tool_call_id=f"c{day}")
        if day % 4 == 0:
            await ledger.settle()
            await ledger.get_context("trip", record=True)
        await ledger.add_assistant_message("trip", f"Museum {day} opens at nine and costs {day} euros on day {day}.")
    state = await ledger.get_state("trip")
    newest = list(state.window.entries)
    await ledger.remove_entry("trip", newest[-2].entry_id)
    await ledger.edit_entry("trip", newest[-1].entry_id, "Museum 12 opens at ten and costs 15 euros on day 12.")
    await ledger.fork("trip", "trip-again", version=state.version - 6)
    await ledger.add_user_message("trip-again", "Only parks, please.")
    for text in HOSTILE:
        await ledger.add_user_message("hostile", text)
        await ledger.add_tool_call("hostile", "run", {"code": text, "<b>key</b>": [text]}, tool_call_id="c")
        await ledger.add_tool_result("hostile", "run", text, tool_call_id="c")


def file_of(service: Running, session_id: str, configs: Sequence[JsonObject] = (OTHER,)) -> bytes:
    """Return the one file of a session, with what-ifs of *configs* in it."""

    async def written() -> bytes:
        ledger = ledger_of(service)
        answers = answers_of(service.service, session_id, None)
        names = {"session_id": session_id, "user_id": None, "namespace": service.service.namespace}
        lines = ledger.export_file(session_id)
        return b"".join([piece async for piece in one_file(lines, answers, names=names, configs=list(configs))])

    return on_loop(service, written())


def on_loop(service: Running, work: Coroutine[Any, Any, T]) -> T:
    """Run *work* on the loop of the service, and return its result."""
    return asyncio.run_coroutine_threadsafe(work, service.loop).result(60)


def ledger_of(service: Running) -> MemoryLedger:
    """Return the ledger that the service shows."""
    caller = Caller(actor="", scopes=SCOPES, namespaces=None, key="")
    return MemoryLedger(service.service.handle(service.service.namespace, caller))
