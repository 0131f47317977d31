"""The limits that SQL repeats are those of ``ledger/events/limits.py``."""

import re
from pathlib import Path

import pytest

from ledger.events import limits
from ledger.stores.postgres.revisions import migrations_dir

STATED = {
    "append": (r"v_count > (\d+)", limits.EVENTS_PER_APPEND),
    "append_checked": (r"c_max_events CONSTANT integer := (\d+)", limits.EVENTS_PER_APPEND),
    "domains": (r"stored_part AS bytea CHECK \(octet_length\(VALUE\) <= (\d+)\)", limits.PAYLOAD_BYTES),
    "domains of names": (r"short_text AS text CHECK \(octet_length\(VALUE\) <= (\d+)\)", limits.NAME_BYTES),
}


def stated(folder: Path, file: str) -> int:
    """Return the number that a SQL file states."""
    pattern, _ = STATED[file]
    (number,) = re.findall(pattern, (folder / f"{file.split(maxsplit=1)[0]}.sql").read_text())
    return int(number)


@pytest.mark.parametrize("file", STATED)
def test_sql_states_the_limit_of_python(file: str) -> None:
    assert stated(migrations_dir() / "sql", file) == STATED[file][1]


def test_another_number_is_noticed(tmp_path: Path) -> None:
    """Negative control."""
    changed = (migrations_dir() / "sql" / "append.sql").read_text().replace("v_count > 32000", "v_count > 10000")
    (tmp_path / "append.sql").write_text(changed)
    assert stated(tmp_path, "append") != limits.EVENTS_PER_APPEND
