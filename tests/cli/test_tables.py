"""Tables in a terminal of any width: what is copied out of them is never broken, and nothing is left out unsaid."""

import random
from io import StringIO

import pytest
from rich.console import Console
from rich.text import Text

from ledger.cli.output import counted
from ledger.cli.show_commands import cell_of
from ledger.cli.table_layout import records, table
from tests.cli.conftest import Cli

COLUMNS = ("session", "user", "status", ">version", "?>entries", "~text", "updated (UTC)")
MOMENT = "2026-11-22 21:16:09"


def words(lines: list[Text]) -> set[str]:
    return {word.strip() for line in lines for word in line.plain.split("  ")}


def test_what_fits_is_a_table_without_its_empty_columns() -> None:
    rows = [("trip", "", "live", "1,234", "9", "hello", MOMENT), ("t", "", "ended", "1", "10", "hi", MOMENT)]
    assert [line.plain for line in table(COLUMNS, rows, 80)] == [
        "session  status  version  entries  text   updated (UTC)",
        "trip     live      1,234        9  hello  2026-11-22 21:16:09",
        "t        ended         1       10  hi     2026-11-22 21:16:09",
    ]


def test_text_is_cut_first_then_columns_go_then_each_cell_has_a_line() -> None:
    row = ("s" * 20, "ann", "live", "12", "9", "hello " * 20, MOMENT)
    cut = [line.plain for line in table(COLUMNS, [row], 110)]
    assert len(cut[1]) == 110
    assert "…" in cut[1]
    fewer = [line.plain for line in table(COLUMNS, [row], 95)]
    assert "entries" not in fewer[0]
    assert [line.plain.split()[0] for line in table(COLUMNS, [row], 60)] == [
        *("session", "user", "status", "version", "entries", "text", "updated"),
    ]


@pytest.mark.parametrize("width", [None, 20, 40, 60, 80, 120])
def test_no_id_date_or_url_is_broken_at_any_width(width: int | None, seed: int) -> None:
    draw = random.Random(seed)
    rows = [
        (f"id-{draw.randrange(10 ** draw.randrange(1, 70))}", "", "live", "1", "2", "x " * draw.randrange(90), MOMENT)
        for _ in range(20)
    ]
    lines = table(COLUMNS, rows, width)
    assert {row[0] for row in rows} <= words(lines)
    assert MOMENT in words(lines)
    console = Console(width=width, force_terminal=True, file=StringIO(), no_color=True)
    for line in lines:
        console.print(line, soft_wrap=True)
    printed = console.file.getvalue()
    assert all(row[0] in printed for row in rows)


def test_records_leave_out_what_is_empty() -> None:
    lines = records([[("a", Text("1")), ("long", Text(""))], [("a", Text("2"))]])
    assert [line.plain for line in lines] == ["a     1", "", "a  2"]


def test_without_rows_there_are_no_lines() -> None:
    assert [table(COLUMNS, [], width) for width in (None, 20)] == [[], []]


def test_a_command_with_nothing_to_list_says_so(cli: Cli) -> None:
    cli("add", "s", "hello")
    assert cli("find", "s", "zzz").lines == ["Nothing was found."]
    assert cli("kept", "list", "s", "plan").lines == ["There are no values."]
    assert cli("context", "s", "--explain").lines[-1] == "No entry was brought back by a search."
    cli("clear", "s")
    head, hidden = cli("window", "s").lines
    assert head.startswith("s at version 3: 0 items, 0 tokens")
    assert hidden == "0 active entries not shown"


def test_numbers_and_absent_values_are_in_words() -> None:
    assert (counted(1, "session"), counted(2_000, "entry")) == ("1 session", "2,000 entries")
    assert [cell_of(value) for value in (None, True, False, 1_000)] == ["none", "yes", "no", "1,000"]


def test_a_list_that_is_cut_says_so(cli: Cli) -> None:
    for number in range(3):
        cli("add", f"s{number}", "hello")
    whole = cli.json("sessions", "--limit", "3")
    assert (len(whole["sessions"]), whole["more"]) == (3, False)
    assert "more" not in cli("sessions").out
    some = cli.json("sessions", "--limit", "2")
    assert ([row["session_id"] for row in some["sessions"]], some["more"]) == (["s2", "s1"], True)
    assert cli("sessions", "--limit", "2").lines[-1] == "There are more than these 2 sessions; --limit shows more."
    assert cli("sessions", "--limit", "1").lines[-1] == "There are more than this 1 session; --limit shows more."


def test_a_list_may_be_longer_than_a_page(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    for number in range(5):
        cli("add", f"s{number}", "hello")
    monkeypatch.setattr("ledger.cli.sessions_commands.PAGE_SESSIONS", 2)
    for limit, more in ((5, False), (4, True), (2, True), (9, False)):
        value = cli.json("sessions", "--limit", str(limit))
        assert [row["session_id"] for row in value["sessions"]] == [f"s{n}" for n in (4, 3, 2, 1, 0)][:limit]
        assert value["more"] == more
