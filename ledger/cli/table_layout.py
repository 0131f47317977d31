"""Lay out tables for a terminal: ids, dates and URLs are never broken."""

from collections.abc import Sequence
from typing import Final

from rich.cells import cell_len
from rich.text import Text

_GAP: Final = 2
_LEAST_TEXT: Final = 24


def table(columns: Sequence[str], rows: Sequence[Sequence[str | Text]], width: int | None) -> list[Text]:
    """Return the lines of a table that fits into *width*, if given.

    Marks before the name of a column: ``>`` aligns it to the right, ``~`` lets its text be cut, ``?`` lets it be left
    out. If that is not enough, each cell gets a line. Columns that are empty in every row are left out; without rows
    there are no lines.
    """
    if not rows:
        return []
    cells = [[cell if isinstance(cell, Text) else Text(cell) for cell in row] for row in rows]
    shown = [at for at in range(len(columns)) if any(row[at].plain for row in cells)]
    names = [column.lstrip(">~?") for column in columns]
    widths = [max(cell_len(name), *(cell_len(row[at].plain) for row in cells)) for at, name in enumerate(names)]
    marks = [column.removesuffix(name) for column, name in zip(columns, names, strict=True)]
    spare = [at for at in shown if "?" in marks[at]]
    while (over := _excess(widths, shown, width)) > 0:
        cut = [at for at in shown if "~" in marks[at] and widths[at] - over >= _LEAST_TEXT]
        if cut:
            widths[cut[0]] -= over
        elif spare:
            shown.remove(spare.pop())
        else:
            return records([[(name, cell) for name, cell in zip(names, row, strict=True)] for row in cells])
    head = [Text(name, style="bold") for name in names]
    lines = [head, *cells] if any(names) else cells
    return [_line([(row[at], widths[at], ">" in marks[at]) for at in shown]) for row in lines]


def records(rows: Sequence[Sequence[tuple[str, Text]]]) -> list[Text]:
    """Return a line for each (name, value) that is not empty, with an empty line between records."""
    lines: list[Text] = []
    for row in rows:
        longest = max(len(name) for name, _ in row)
        lines += [Text()] if lines else []
        lines += [Text.assemble((name.ljust(longest + _GAP), "bold"), value) for name, value in row if value.plain]
    return lines


def _excess(widths: Sequence[int], shown: Sequence[int], width: int | None) -> int:
    return 0 if width is None else sum(widths[at] for at in shown) + _GAP * (len(shown) - 1) - width


def _line(cells: Sequence[tuple[Text, int, bool]]) -> Text:
    line = Text()
    for number, (cell, width, right) in enumerate(cells):
        shown = cell.copy()
        shown.truncate(width, overflow="ellipsis")
        space = Text(" " * (width - cell_len(shown.plain)))
        line.append_text(Text(" " * _GAP if number else ""))
        line.append_text(space + shown if right else shown + space)
    line.rstrip()
    return line
