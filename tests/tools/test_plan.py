"""The plan of the code: what `tools.plan` counts, and that the code has no circle and no file name twice."""

from pathlib import Path

import pytest

from tools.plan.calls import all_walks
from tools.plan.drawing import Plan, plan

ROOT = Path(__file__).parents[2]

#: File names that a port and its two stores share on purpose, and how often.
OF_PORTS_AND_STORES = dict.fromkeys(
    (
        *("derived_rows", "event_store", "job_queue", "projection_store", "record_store"),
        *("search_index", "served_views", "session_index", "snapshot_store", "token_store"),
    ),
    3,
)
#: File names that are used twice or more without a reason, and how often. The code should have none.
TWICE_TODAY: dict[str, int] = {}


@pytest.fixture(scope="module")
def drawn() -> Plan:
    return plan(ROOT)


def written(root: Path, sources: dict[str, str]) -> Plan:
    """Return the plan of a package ``ledger`` of the files *sources*."""
    root.mkdir(exist_ok=True)
    (root / "pyproject.toml").write_text(LAYERS)
    for name, source in {"__init__": "", **sources}.items():
        file = root / "ledger" / f"{name}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source)
    return plan(root, ("ledger",))


LAYERS = '[[tool.importlinter.contracts]]\ntype = "layers"\nlayers = ["ledger.upper", "ledger.lower"]\n'
LAZILY = "if TYPE_CHECKING:\n    import ledger.other\nelse:\n    ledger = lazy_package('ledger')\n"
FOR_TYPES = "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from ledger.other import Other\n"


def test_no_module_needs_itself(drawn: Plan) -> None:
    assert drawn.modules.circles_for_types == []


def test_no_room_needs_itself(drawn: Plan) -> None:
    assert drawn.rooms.circles_for_types == []


def test_no_module_imports_upward(drawn: Plan) -> None:
    assert drawn.upward == []


def test_no_file_name_is_used_twice(drawn: Plan) -> None:
    assert drawn.duplicates == OF_PORTS_AND_STORES | TWICE_TODAY


@pytest.mark.parametrize(
    ("one", "at_once", "later", "for_types"),
    [
        ("from ledger.other import value\n", 1, 1, 1),
        ("from ledger import other\n", 1, 1, 1),
        ("from .other import value\n", 1, 1, 1),
        ("class Late:\n    def method(self):\n        import ledger.other\n", 0, 1, 1),
        (LAZILY, 0, 1, 1),
        (FOR_TYPES, 0, 0, 1),
        ("", 0, 0, 0),
    ],
)
def test_a_circle_is_found(tmp_path: Path, one: str, at_once: int, later: int, for_types: int) -> None:
    """The last is the negative control: the other module needs the one, but not the other way round."""
    found = written(tmp_path, {"one": one, "other": "import ledger.one\n"}).modules
    assert [len(each) for each in (found.circles, found.lazy_circles, found.circles_for_types)] == [
        at_once,
        later,
        for_types,
    ]
    assert found.floors == (1 if for_types else 2)


def test_a_circle_between_rooms_that_no_module_is_in_is_found(tmp_path: Path) -> None:
    files = {"a/one": "import ledger.b.two\n", "a/two": "", "b/one": "import ledger.a.two\n", "b/two": ""}
    crossed = written(tmp_path / "crossed", files)
    assert (crossed.modules.circles, crossed.rooms.circles) == ([], [["ledger.a", "ledger.b"]])
    plain = written(tmp_path / "plain", {"a/one": "import ledger.b.two\n", "b/two": ""})
    assert (plain.rooms.circles, plain.rooms.arrows, plain.rooms.floors) == ([], 1, 2)


def test_rooms_folders_and_loose_modules_are_counted(tmp_path: Path) -> None:
    files = {"loose": "\n" * 61, "a/one": "\n" * 301, "a/deep/two": "import ledger.a.one\nimport ledger.loose\n"}
    found = written(tmp_path, files)
    assert (found.files, found.lines, found.largest) == (4, 364, ("ledger/a/one.py", 301))
    assert (found.folders, found.rooms.rooms, found.parts.rooms, found.loose) == (3, 3, 4, ["loose"])
    assert (found.rooms.arrows, found.parts.arrows, found.parts.floors) == (1, 2, 2)
    assert (found.short_files, found.long_files) == (2, [("ledger/a/one.py", 301)])


def test_a_file_name_that_is_used_twice_is_found(tmp_path: Path) -> None:
    files = dict.fromkeys(("a/entries", "a/__init__", "b/__init__", "b/entries", "c/entries"), "")
    assert written(tmp_path, files).duplicates == {"entries": 3}


def test_file_names_used_once_are_not_reported(tmp_path: Path) -> None:
    """Negative control: only ``__init__`` is there twice."""
    assert written(tmp_path, dict.fromkeys(("a/entries", "a/__init__", "b/__init__"), "")).duplicates == {}


@pytest.mark.parametrize("upper", ["upper", "upper/inside"])
def test_an_import_upward_is_found(tmp_path: Path, upper: str) -> None:
    name = f"ledger.{upper.replace('/', '.')}"
    assert written(tmp_path, {upper: "", "lower": f"import {name}\n"}).upward == [("ledger.lower", name)]


def test_an_import_downward_is_not_reported(tmp_path: Path) -> None:
    """Negative control."""
    assert written(tmp_path, {"upper": "import ledger.lower\n", "lower": ""}).upward == []


def test_methods_of_ports_are_counted(tmp_path: Path) -> None:
    port = "class Store(Protocol):\n    async def get(self): ...\n    def put(self): ...\n"
    record = "class Record:\n    def get(self): ...\n"
    assert written(tmp_path, {"ports/store": port + record}).methods_of_ports == {"Store": 2}


def test_a_generated_file_is_not_counted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tools.plan.modules.GENERATED", ("ledger/made.py",))
    assert (written(tmp_path, {"made": "\n" * 9, "other": "\n"}).files, plan(tmp_path, ("ledger",)).lines) == (2, 1)


def test_the_calls_of_four_operations_are_the_same_each_time() -> None:
    found = all_walks()
    assert found == all_walks()
    assert all(walk.calls > walk.modules > 10 for walk in found.values())
    assert found["what_if of four events"].calls < 700
