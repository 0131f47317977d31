"""The exit codes of docs/command-line.md are those of the code, no more and no fewer. Source: trust §12."""

import re
from pathlib import Path

import pytest

from ledger.cli import app, doctor_command, exit_codes
from ledger.cli.verify import EXIT_CODES, NOT_ENOUGH_EXIT
from tests.support.command_line_page import PAGE
from tests.support.command_line_page import exit_codes as codes_of_the_page

CLI = Path(app.__file__).parent

IN_CODE = {
    0,
    app.UNAVAILABLE,
    app.REFUSED,
    doctor_command._WEAKER,
    doctor_command._WILL_NOT_START,
    *EXIT_CODES.values(),
    NOT_ENOUGH_EXIT,
    exit_codes.INTERRUPTED,
    exit_codes.TERMINATED,
}


def test_the_page_lists_the_codes_of_the_code() -> None:
    assert set(codes_of_the_page()) == IN_CODE


def test_the_exit_codes_are_those_of_the_page() -> None:
    """Each of them is shown by a command in the other files here."""
    meaning = codes_of_the_page()
    assert "not available" in meaning[app.UNAVAILABLE]
    assert "refused" in meaning[app.REFUSED]
    assert "doctor" in meaning[3] == meaning[4]
    assert "verify" in meaning[12] == meaning[13] == meaning[20] == meaning[40]
    assert (exit_codes.INTERRUPTED, exit_codes.TERMINATED) == (130, 143)


def test_the_table_of_verdicts_is_that_of_the_code() -> None:
    rows = re.findall(r"^\| (?:`([A-Z -]+)` )?\| (\d+) \|", PAGE.partition("\n## verify")[2], re.MULTILINE)
    assert {verdict: int(code) for verdict, code in rows if verdict} == EXIT_CODES
    assert [int(code) for verdict, code in rows if not verdict] == [NOT_ENOUGH_EXIT]


def test_no_command_makes_up_a_code_of_its_own() -> None:
    for path in CLI.glob("*.py"):
        for number in re.findall(r"(?:Exit|exit)\((\d+)\)", path.read_text()):
            assert int(number) in IN_CODE, path.name


@pytest.mark.parametrize("row", ["| 0 | done |", "| 1 | the database", "| 130, 143 | interrupted"])
def test_a_page_without_a_code_is_noticed(row: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    assert row in PAGE
    monkeypatch.setattr("tests.support.command_line_page.PAGE", PAGE.replace(row, "| - |"))
    assert set(codes_of_the_page()) != IN_CODE
