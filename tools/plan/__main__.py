"""Draw the plan of the code: ``python -m tools.plan``, with ``--json``, or of another checkout with ``--root``."""

import argparse
import sys
from pathlib import Path
from typing import Final

import msgspec

from tools.plan.calls import Walk, all_walks
from tools.plan.drawing import LONG, SHORT, Plan, Rooms, plan

ROOT: Final = Path(__file__).parents[2]


def text(drawn: Plan, walks: dict[str, Walk]) -> str:
    """Return the table: a line for each number, then the lists by name."""
    rows = [
        ("files", f"{drawn.files:,}"),
        ("lines, generated ones apart", f"{drawn.lines:,}"),
        ("median file, lines", f"{drawn.median:g}"),
        ("largest file, lines", f"{drawn.largest[1]:,} ({drawn.largest[0]})"),
        (f"files under {SHORT} lines", str(drawn.short_files)),
        (f"files over {LONG} lines", str(len(drawn.long_files))),
        ("modules loose in ledger/", str(len(drawn.loose))),
        ("folders with modules, at every depth", str(drawn.folders)),
        *_rows("rooms at the top", drawn.rooms),
        *_rows("folders and loose modules", drawn.parts),
        *_rows("modules", drawn.modules),
        *((f"imports {when}", f"{number:,}") for when, number in drawn.imports.items()),
        ("file names used twice or more", str(len(drawn.duplicates))),
        ("imports upward", str(len(drawn.upward))),
        ("ports / methods of ports", f"{len(drawn.methods_of_ports)} / {sum(drawn.methods_of_ports.values())}"),
        *((f"{name}: calls / modules", f"{walk.calls:,} / {walk.modules}") for name, walk in walks.items()),
    ]
    wide = max(len(name) for name, _ in rows)
    lists = {
        "Circles between modules": [" ".join(each) for each in drawn.modules.circles_for_types],
        "Circles between rooms": [" ".join(each) for each in drawn.rooms.circles_for_types],
        "Circles between folders": [" ".join(each) for each in drawn.parts.circles_for_types],
        f"Files over {LONG} lines": [f"{path} {lines}" for path, lines in drawn.long_files],
        "Loose modules": [" ".join(drawn.loose)] if drawn.loose else [],
        "File names used twice or more": [f"{name} {times}" for name, times in drawn.duplicates.items()],
        "Imports upward": [f"{importer} -> {imported}" for importer, imported in drawn.upward],
        "Methods of ports": [f"{name} {number}" for name, number in drawn.methods_of_ports.items()],
    }
    lines = [f"{name:<{wide}}  {value}" for name, value in rows]
    for title, members in lists.items():
        lines += ["", f"{title}: {len(members)}", *(f"  {member}" for member in members)]
    return "\n".join(lines) + "\n"


def _rows(level: str, rooms: Rooms) -> list[tuple[str, str]]:
    return [
        (level, str(rooms.rooms)),
        ("  arrows (of them at once)", f"{rooms.arrows:,} ({rooms.arrows_at_once:,})"),
        ("  floors", str(rooms.floors)),
        (
            "  circles: at once / in functions too / for types too",
            f"{len(rooms.circles)} / {len(rooms.lazy_circles)} / {len(rooms.circles_for_types)}",
        ),
    ]


def main() -> None:
    """Print the plan."""
    parser = argparse.ArgumentParser(prog="python -m tools.plan", description=__doc__)
    parser.add_argument("--json", action="store_true", help="print the numbers and lists as JSON")
    parser.add_argument("--root", type=Path, default=ROOT, help="another checkout; the calls are counted here only")
    arguments = parser.parse_args()
    root: Path = arguments.root.resolve()
    drawn, walks = plan(root), all_walks() if root == ROOT else {}
    if arguments.json:
        both = {"plan": drawn, "calls": walks}
        sys.stdout.write(f"{msgspec.json.format(msgspec.json.encode(both)).decode()}\n")
    else:
        sys.stdout.write(text(drawn, walks))


if __name__ == "__main__":
    main()
