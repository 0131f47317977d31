"""What docs/command-line.md promises: the JSON keys of each command, and the exit codes."""

import re
from pathlib import Path

PAGE = (Path(__file__).parents[2] / "docs" / "command-line.md").read_text()


def exit_codes() -> dict[int, str]:
    """Return the codes of the table of exit codes, with their meaning."""
    table = PAGE.partition("## Exit codes")[2].partition("\n## ")[0]
    rows = re.findall(r"^\| ([\d, ]+) \| (.+) \|$", table, re.MULTILINE)
    return {int(code): meaning for codes, meaning in rows for code in codes.split(",")}


def documented(command: str) -> tuple[set[str], dict[str, set[str]]]:
    """Return the keys of a command's JSON, and those of the objects in its lists, by the list's key."""
    (cell,) = re.findall(rf"^\| `{re.escape(command)}[ `].*\| (.*) \|$", PAGE, re.MULTILINE)
    inner = {name: set(re.findall(r"`(\w+)`", keys)) for name, keys in re.findall(r"`(\w+)`: \[(.*?)\]", cell)}
    outer = set(re.findall(r"`(\w+)`", re.sub(r": \[.*?\]", "", cell)))
    return outer, inner
