"""The pages "the path of …" name functions that exist, in the order in which real appends and reads call them."""

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

import psycopg
import pytest

from ledger.ports import Store
from ledger.stores.postgres import PostgresStore
from ledger.stores.postgres.append_call import AppendConnection
from tests.support.ledgers import ledger_over
from tests.support.traced_calls import traced
from tools.path_pages import PAGES, Function, functions, resolved, steps, with_files

Scenario = Callable[[Store, str, pytest.MonkeyPatch], Awaitable[Sequence[Function]]]

PLAIN = {"profile": "none"}
SMALL = {"compactions": [{"type": "token_threshold", "max_entries": 6, "recent_window": 2}]}
RECALL = {"window": {"type": "recall", "max_tokens": 200}}
TEXTS = [f"Message {number} is about the ferry to Lisbon, and what it costs in June." for number in range(140)]
KNOWN = functions()
#: `.queue` and `.States.queue` of `States.queue`.
ENDS = {f".{name.split('.', at)[-1]}" for name in KNOWN for at in range(name.count(".") + 1)}
BEGUN = 2  # messages of a session that is in use


def messages(texts: Sequence[str]) -> list[dict[str, Any]]:
    """Return user messages with these texts."""
    return [{"kind": "message", "role": "user", "content": text} for text in texts]


async def the_usual_append(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", messages(TEXTS[:BEGUN]))
    with traced() as found:
        await ledger.add_user_message("s", "Which day?")
    return found


async def a_state_that_is_not_the_newest(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", messages(TEXTS[:BEGUN]))
    entry = {**messages(["Which day?"])[0], "entry_id": "asked"}
    added = await ledger.add_entries("s", [entry])
    with traced() as found:
        again = await ledger.add_entries("s", [entry])
    assert again.version == added.version
    return found


async def many_appends_at_once(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    sessions = [f"s{number}" for number in range(6)]
    for session in sessions:
        await ledger.add_user_message(session, "Which day?")
    with traced() as found:
        await asyncio.gather(*(ledger.add_user_message(session, "And when?") for session in sessions))
    return found


async def the_answer_is_lost(store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", messages(TEXTS[:BEGUN]))
    result = AppendConnection._result
    answers = 0

    async def lose_the_first(connection: AppendConnection) -> Any:
        nonlocal answers
        answers += 1
        answer = await result(connection)
        if answers == 1:
            raise psycopg.OperationalError("the connection broke")
        return answer

    monkeypatch.setattr(AppendConnection, "_result", lose_the_first)
    with traced() as found:
        added = await ledger.add_user_message("s", "Which day?")
    assert [entry.entry_id for entry in await ledger.get_active_entries("s")][BEGUN:] == [added.entry_id]
    return found


async def a_compaction_is_due(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", messages(TEXTS[:6]), config=SMALL)
    with traced() as found:
        await ledger.add_user_message("s", "Which day?")
        await ledger.settle()
    assert len(await ledger.get_summaries("s")) == 1
    return found


async def the_usual_window(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    for text in TEXTS[:BEGUN]:
        await ledger.add_user_message("s", text)
    with traced() as found:
        await ledger.get_context("s")
    return found


async def nothing_in_memory(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    writer, reader = (ledger_over(store, namespace=namespace) for _ in range(2))
    await writer.add_entries("s", messages(TEXTS), config=PLAIN)
    await writer._handle.services.commands.settle()  # its snapshot
    await writer.add_user_message("s", "Which day?")
    with traced() as found:
        context = await reader.get_context("s")
    assert len(context.window.items) == len(TEXTS) + 1
    return found


async def an_old_version(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    for text in TEXTS[:BEGUN]:
        await ledger.add_user_message("s", text)
    with traced() as found:
        await ledger.get_context("s", version=2)
    return found


async def hits_of_a_search(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", messages(["We take the night train to Porto.", *TEXTS[:40]]), config=RECALL)
    with traced() as found:
        context = await ledger.get_context("s", query="Porto")
    assert context.window.recalled
    return found


async def a_window_that_is_recorded(store: Store, namespace: str, _: pytest.MonkeyPatch) -> Sequence[Function]:
    ledger = ledger_over(store, namespace=namespace)
    await ledger.add_entries("s", messages(TEXTS[:BEGUN]))
    with traced() as found:
        await ledger.get_context("s", record=True)
    return found


#: What is called, by the heading of the table that tells it.
SCENARIOS: Mapping[str, Scenario] = {
    scenario.__name__.replace("_", " ").capitalize(): scenario
    for scenario in (
        the_usual_append,
        a_state_that_is_not_the_newest,
        many_appends_at_once,
        the_answer_is_lost,
        a_compaction_is_due,
        the_usual_window,
        nothing_in_memory,
        an_old_version,
        hits_of_a_search,
        a_window_that_is_recorded,
    )
}
TABLES = {heading: names for page in PAGES for heading, names in steps(page.read_text()).items()}


def faults(names: Sequence[str], called: Sequence[Function]) -> list[str]:
    """Return which of the functions with these *names* were not called, or before the one above."""
    found, last = [], -1
    for name in names:
        function = resolved(name, KNOWN)
        if function not in called:
            found.append(f"{name} is not called")
        elif called.index(function) < last:
            found.append(f"{name} is called earlier")
        else:
            last = called.index(function)
    return found


def drawn(text: str) -> list[str]:
    """Return the functions in the picture of a page, from top to bottom."""
    return re.findall(r"([\w.]+)\(\)", re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)[0])


def misplaced(names: Sequence[str], told: Sequence[str]) -> list[str]:
    """Return which of the *names* in a picture do not come in the order of a table, where they may be longer."""
    found, rest = [], iter(told)
    for name in names:
        if not any(f".{each}".endswith(f".{name}") for each in rest):
            found.append(name)
            rest = iter(told)
    return found


def unknown(text: str) -> list[str]:
    """Return which functions of the prose, written with parentheses, do not exist."""
    return [name for name in re.findall(r"`([\w.]+)\(\)`", text) if f".{name}" not in ENDS]


def test_every_table_is_tried() -> None:
    assert set(TABLES) == set(SCENARIOS)


@pytest.mark.postgres
@pytest.mark.parametrize("heading", SCENARIOS)
async def test_the_functions_of_a_table_are_called_in_its_order(
    heading: str, postgres_store: PostgresStore, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    called = await SCENARIOS[heading](postgres_store, namespace, monkeypatch)
    assert faults(TABLES[heading], called) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_picture_is_in_the_order_of_the_first_table(page: Any) -> None:
    text = page.read_text()
    assert len(drawn(text)) > 8
    assert misplaced(drawn(text), next(iter(steps(text).values()))) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_picture_fits_into_80_columns(page: Any) -> None:
    picture = re.findall(r"^```text\n(.*?)^```", page.read_text(), re.MULTILINE | re.DOTALL)[0]
    assert max(map(len, picture.splitlines())) <= 80


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_functions_of_the_prose_exist(page: Any) -> None:
    assert unknown(page.read_text()) == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_files_are_those_of_the_functions(page: Any) -> None:
    assert page.read_text() == with_files(page.read_text(), KNOWN), "run: make docs-generate"


@pytest.mark.postgres
async def test_a_wrong_order_and_a_function_that_is_not_called_are_noticed(
    postgres_store: PostgresStore, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control, with each pair of neighbours swapped."""
    names = TABLES["The usual append"]
    called = await the_usual_append(postgres_store, namespace, monkeypatch)
    for at in range(len(names) - 1):
        swapped = [*names[:at], names[at + 1], names[at], *names[at + 2 :]]
        assert faults(swapped, called) == [f"{names[at]} is called earlier"]
    assert faults([*names, "States.at"], called) == ["States.at is not called"]


def test_a_page_that_is_not_so_is_noticed() -> None:
    """Negative control."""
    told = ["add_drafts", "States.folded", "States.queue"]
    assert misplaced(["folded", "queue"], told) == []
    assert misplaced(["queue", "folded"], told) == ["folded"]
    assert unknown("`decide()`, `no_such_function()`, `States.queue()`") == ["no_such_function"]
    with pytest.raises(LookupError, match="no file"):
        resolved("States.no_such_function", KNOWN)
    with pytest.raises(LookupError, match=r"decide\.py, .*a page must name one"):
        resolved("decide", KNOWN)
    row = "## Steps\n\n| function | file |\n| --- | --- |\n| `States.queue` | `ledger/moved.py` |\n"
    assert with_files(row, KNOWN) == row.replace("ledger/moved.py", resolved("States.queue", KNOWN).path)
