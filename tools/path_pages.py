"""Write the files into the tables of functions of two pages: ``python -m tools.path_pages``. A test compares them.

A row of such a table begins with the name of a function, as unique as it has to be: ``decide``, ``States.queue``, or
with the file before it, ``full.window``. The second cell is the file.
"""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final, NamedTuple

ROOT: Final = Path(__file__).parents[1]
PAGES: Final = tuple(ROOT / "docs" / name for name in ("path-of-an-append.md", "path-of-a-window.md"))
_HEAD: Final = "| function | file |"
_ROW: Final = re.compile(r"^\| `([\w.]+)` \|[^|]*\|", re.MULTILINE)


class Function(NamedTuple):
    """Where a function is: its file, from the root, and its name with those of the classes around it."""

    path: str
    name: str


def functions(root: Path = ROOT) -> dict[str, list[Function]]:
    """Return the functions and methods of the two packages by each name that a page may give them."""
    found: dict[str, list[Function]] = defaultdict(list)
    for package in ("ledger", "projections"):
        for path in sorted((root / package).rglob("*.py")):
            for name in _defined(ast.parse(path.read_text()).body):
                function = Function(path.relative_to(root).as_posix(), name)
                found[name].append(function)
                found[f"{path.stem}.{name}"].append(function)
    return found


def _defined(body: Sequence[ast.stmt], around: str = "") -> Iterator[str]:
    for node in body:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield f"{around}{node.name}"
        elif isinstance(node, ast.ClassDef):
            yield from _defined(node.body, f"{around}{node.name}.")


def resolved(name: str, known: Mapping[str, Sequence[Function]]) -> Function:
    """Return the function that *name* means.

    Raises:
        LookupError: there is none, or more than one.
    """
    found = known.get(name, ())
    if len(found) != 1:
        places = ", ".join(each.path for each in found) or "no file"
        raise LookupError(f"`{name}` is in {places}; a page must name one function")
    return found[0]


def steps(text: str) -> dict[str, list[str]]:
    """Return the names of the functions in the tables of a page, in order, by the heading above them."""
    found = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE):
        if _HEAD in section:
            found[section.partition("\n")[0]] = _ROW.findall(section.partition(_HEAD)[2])
    return found


def with_files(text: str, known: Mapping[str, Sequence[Function]]) -> str:
    """Return the *text* of a page with the file of each function in its row."""

    def row(found: re.Match[str]) -> str:
        return f"| `{found[1]}` | `{resolved(found[1], known).path}` |"

    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return "".join(_ROW.sub(row, part) if _HEAD in part else part for part in parts)


def main() -> None:
    """Write the files into the pages."""
    known = functions()
    for page in PAGES:
        page.write_text(with_files(page.read_text(), known))


if __name__ == "__main__":
    main()
