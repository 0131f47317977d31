"""The modules of `ledger` and `projections`, and what they import: read from the source, nothing is run."""

import ast
from collections.abc import Collection, Iterator, Mapping
from enum import StrEnum
from pathlib import Path
from typing import Final

import msgspec

PACKAGES: Final = ("ledger", "projections")
#: Written by a program, not by hand: no count of lines has them. Paths from the root of the repository.
GENERATED: Final = ("ledger/sync.pyi", "migrations/schema.sql", "ui/src/api.ts", "ledger/server/ui/viewer.js")


class When(StrEnum):
    """When an import takes place: with its module, at a call in a function, or never, for types only."""

    AT_ONCE = "at once"
    LATER = "in a function"
    FOR_TYPES = "for types"


class Import(msgspec.Struct, frozen=True, order=True):
    """Module *importer* names module *imported*, by their full names."""

    importer: str
    imported: str
    when: When


class Module(msgspec.Struct, frozen=True):
    """A file: its full name, its path from the root, its *folder* as a dotted name, and its lines."""

    name: str
    path: Path
    folder: str
    lines: int

    @property
    def room(self) -> str:
        """The top-level room: a folder directly in ``ledger``, a module that lies loose beside them, a package."""
        package, *inside = self.name.split(".")
        return f"{package}.{inside[0]}" if package == "ledger" and inside else package

    @property
    def part(self) -> str:
        """The folder, at any depth; a module that lies loose in ``ledger`` is a part of its own."""
        return self.name if self.folder == "ledger" else self.folder


def modules(root: Path, packages: Collection[str] = PACKAGES) -> dict[str, Module]:
    """Return the modules of *packages* below *root*, by name, without the generated ones."""
    found = {}
    for path in (path for package in packages for path in sorted((root / package).rglob("*.py"))):
        inside = path.relative_to(root)
        if inside.as_posix() in GENERATED:
            continue
        folder = ".".join(inside.parent.parts)
        name = folder if path.stem == "__init__" else f"{folder}.{path.stem}"
        found[name] = Module(name, inside, folder, len(path.read_text().splitlines()))
    return found


def imports(root: Path, known: Mapping[str, Module]) -> set[Import]:
    """Return which of the *known* modules names which; a module that names itself is left out."""
    found = set()
    for module in known.values():
        tree = ast.parse((root / module.path).read_text())
        for names, when in _statements(tree, When.AT_ONCE, module):
            for name in names:
                imported = _module_of(name, known)
                if imported is not None and imported != module.name:
                    found.add(Import(module.name, imported, when))
    return found


def _statements(node: ast.AST, when: When, module: Module) -> Iterator[tuple[list[str], When]]:
    for child in ast.iter_child_nodes(node):
        match child:
            case ast.Import(names=names):
                yield [alias.name for alias in names], when
            case ast.ImportFrom(module=source, names=names, level=level):
                above = module.folder.split(".")[: len(module.folder.split(".")) - level + 1] if level else []
                origin = ".".join([*above, *([source] if source else [])])
                yield [f"{origin}.{alias.name}" for alias in names], when
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.Lambda():
                yield from _statements(child, max(when, When.LATER, key=list(When).index), module)
            case ast.Call(func=ast.Name(id="import_module"), args=[ast.Constant(value=str(name))]):
                yield [name], max(when, When.LATER, key=list(When).index)
            case ast.If(test=test, body=body, orelse=orelse) if _is_type_checking(test):
                used = When.LATER if any("lazy_package(" in ast.unparse(each) for each in orelse) else When.FOR_TYPES
                yield from _statements(ast.Module(body, []), used, module)
                yield from _statements(ast.Module(orelse, []), when, module)
            case _:
                yield from _statements(child, when, module)


def _is_type_checking(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def _module_of(name: str, known: Mapping[str, Module]) -> str | None:
    """Return the module that *name* is or lies in: for ``ledger.events.EntryAdded`` it is ``ledger.events``."""
    while name and name not in known:
        name = name.rpartition(".")[0]
    return name or None


def methods_of_ports(root: Path, folder: str = "ledger/ports") -> dict[str, int]:
    """Return how many methods and properties each Protocol class in *folder* declares itself."""
    found = {}
    for path in sorted((root / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ClassDef) and any("Protocol" in ast.unparse(base) for base in node.bases):
                found[node.name] = sum(isinstance(each, ast.FunctionDef | ast.AsyncFunctionDef) for each in node.body)
    return found
