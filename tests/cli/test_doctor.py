"""`doctor` names variables of the environment that nothing reads."""

import re
from pathlib import Path

import pytest

from ledger.cli.doctor_command import check_environment, known_variables

PAGES = [*(Path(__file__).parents[2] / "docs").glob("*.md")]


def test_a_misspelled_variable_is_named_with_the_nearest_known_one() -> None:
    found = check_environment(["PATH", "MEMORY_LEDGER_SUMARIZER_MODEL", "MEMORY_LEDGER_ACTOR", "memory_ledger_foo"])
    assert found.level == "weaker"
    assert found.found == (
        "MEMORY_LEDGER_SUMARIZER_MODEL is no setting; did you mean MEMORY_LEDGER_SUMMARIZER_MODEL?, "
        "memory_ledger_foo is no setting"
    )


@pytest.mark.parametrize("names", [[], ["PATH", "memory_ledger_Actor", "MEMORY_LEDGER_WORKER_POLL_S"]])
def test_known_variables_in_any_case_are_fine(names: list[str]) -> None:
    assert check_environment(names).level == "ok"


def test_every_variable_of_the_pages_is_known() -> None:
    documented = {name for page in PAGES for name in re.findall(r"\bMEMORY_LEDGER_[A-Z_]*[A-Z]\b", page.read_text())}
    assert len(documented) > 30
    assert check_environment(documented).level == "ok", check_environment(documented).found
    assert known_variables() >= documented
