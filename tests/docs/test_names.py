"""One name, one meaning: the classes and type aliases of the two packages have names of their own."""

import ast
import re
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).parents[2]


def _defined(tree: ast.Module) -> list[str]:
    """The names of the classes and type aliases at the top of a module, private ones too."""
    names = []
    for node in tree.body:
        match node:
            case ast.ClassDef(name=name):
                names.append(name)
            case ast.AnnAssign(target=ast.Name(id=name), annotation=annotation) if "TypeAlias" in ast.unparse(
                annotation
            ):
                names.append(name)
            case ast.Assign(targets=[ast.Name(id=name)], value=value) if _is_alias(name, value):
                names.append(name)
    return names


def _is_alias(name: str, value: ast.expr) -> bool:
    """Tell whether an assignment without annotation names a type: ``Name = NewType(...)``, ``Name = A | B``."""
    plain = name.lstrip("_")
    if not plain[:1].isupper() or plain.isupper():
        return False
    called = ast.unparse(value.func) if isinstance(value, ast.Call) else ""
    return called == "NewType" or isinstance(value, ast.Subscript | ast.BinOp)


def _defined_twice(root: Path) -> dict[str, list[str]]:
    places = defaultdict(list)
    for package in ("ledger", "projections"):
        for path in sorted((root / package).rglob("*.py")):
            for name in _defined(ast.parse(path.read_text())):
                places[name].append(str(path.relative_to(root)))
    return {name: where for name, where in places.items() if len(where) > 1}


def test_no_two_classes_or_type_aliases_share_a_name() -> None:
    assert _defined_twice(ROOT) == {}


def test_a_name_that_is_defined_twice_is_found(tmp_path: Path) -> None:
    texts = {
        "ledger": "class Report: ...\nPage: TypeAlias = list[str]\nId = NewType('Id', str)\n_Row = tuple[int, str]",
        "projections": "class Report: ...\nclass Page: ...\nclass Id: ...\nclass _Row: ...",
        "ledger/nested": "class Other:\n    class Page: ...\n\ndef build():\n    class Other: ...",
    }
    for package, text in texts.items():
        (tmp_path / package).mkdir()
        (tmp_path / package / "names.py").write_text(text)
    assert set(_defined_twice(tmp_path)) == {"Report", "Page", "Id", "_Row"}


def test_a_value_is_no_alias(tmp_path: Path) -> None:
    for package in ("ledger", "projections"):
        (tmp_path / package).mkdir()
        (tmp_path / package / "names.py").write_text(
            "LIMIT = 10\nDefault = Config()\n_EMPTY = frozenset()\nT = TypeVar('T')\n"
        )
    assert _defined_twice(tmp_path) == {}


#: Words that do not say what a thing is (style page). `kept` is in the glossary: a value beside the window.
VAGUE = {"told", "said", "carry", "carried", "mend", "mended", "mighty", "bare", "guarded"}


def _vague_names(root: Path) -> dict[str, str]:
    """The names of functions, classes, arguments, variables and modules with a vague word, and a file of each."""
    found = {}
    for package in ("ledger", "projections"):
        for path in sorted((root / package).rglob("*.py")):
            names = {path.stem}
            for node in ast.walk(ast.parse(path.read_text())):
                match node:
                    case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
                        names.add(name)
                    case ast.arg(arg=name) | ast.Name(id=name) | ast.Attribute(attr=name):
                        names.add(name)
            spaced = {name: re.sub(r"([a-z])([A-Z])", r"\1_\2", name).lower() for name in names}
            vague = (name for name, words in spaced.items() if VAGUE & set(words.split("_")))
            found |= dict.fromkeys(vague, str(path.relative_to(root)))
    return found


def test_no_name_is_vague() -> None:
    assert _vague_names(ROOT) == {}


def test_a_vague_name_is_found(tmp_path: Path) -> None:
    (tmp_path / "ledger").mkdir()
    (tmp_path / "ledger" / "carried_parts.py").write_text("class BareRoute: ...\ndef f(told): x.said = bareness = 1")
    assert set(_vague_names(tmp_path)) == {"carried_parts", "BareRoute", "told", "said"}
