"""The plan of a checkout as numbers, drawn from its source alone."""

import tomllib
from collections import Counter
from collections.abc import Collection, Mapping
from pathlib import Path
from statistics import median
from typing import Final

import msgspec

from tools.plan.graph import Graph, circles, floors, graph_of
from tools.plan.modules import PACKAGES, Import, Module, When, imports, methods_of_ports, modules

SHORT: Final = 60
LONG: Final = 300
_RUN: Final = (When.AT_ONCE, When.LATER)


class Rooms(msgspec.Struct, frozen=True):
    """A way to divide the modules into rooms, and the arrows between these.

    *arrows* and *floors* count all imports; *arrows_at_once* only those that take place with their module. *circles*
    are of those at once, *lazy_circles* of those that a function makes too, *circles_for_types* of all.
    """

    rooms: int
    arrows: int
    arrows_at_once: int
    floors: int
    circles: list[list[str]]
    lazy_circles: list[list[str]]
    circles_for_types: list[list[str]]


class Plan(msgspec.Struct, frozen=True):
    """The plan of a checkout. Lines are of files that are written by hand; *largest* is a path and its lines."""

    files: int
    lines: int
    median: float
    largest: tuple[str, int]
    short_files: int
    long_files: list[tuple[str, int]]
    loose: list[str]
    folders: int
    rooms: Rooms
    parts: Rooms
    modules: Rooms
    imports: dict[str, int]
    duplicates: dict[str, int]
    upward: list[tuple[str, str]]
    methods_of_ports: dict[str, int]


def plan(root: Path, packages: Collection[str] = PACKAGES) -> Plan:
    """Return the plan of the checkout at *root*.

    There are three levels. Rooms at the top are the folders directly in ``ledger``, the modules that lie loose beside
    them, and ``projections``. Parts divide further: each folder at every depth, and again each loose module. Modules
    are files. Counted at all of these, with imports of every kind, the plan before the redesign had 56 rooms at the
    top with 420 arrows on 17 floors (issue 31 says 60, 454 and 17, and does not say what it counted as a room).
    """
    known = modules(root, packages)
    arrows = imports(root, known)
    sizes = sorted((module.lines, str(module.path)) for module in known.values())
    return Plan(
        files=len(sizes),
        lines=sum(lines for lines, _ in sizes),
        median=median(lines for lines, _ in sizes),
        largest=(sizes[-1][1], sizes[-1][0]),
        short_files=sum(lines < SHORT for lines, _ in sizes),
        long_files=[(path, lines) for lines, path in reversed(sizes) if lines > LONG],
        loose=sorted(each.path.stem for each in known.values() if each.folder == "ledger" and "." in each.name),
        folders=len({module.folder for module in known.values()}),
        rooms=_rooms({name: module.room for name, module in known.items()}, arrows),
        parts=_rooms({name: module.part for name, module in known.items()}, arrows),
        modules=_rooms({name: name for name in known}, arrows),
        imports={when.value: sum(each.when is when for each in arrows) for when in When},
        duplicates=duplicates(known),
        upward=upward(arrows, _layers(root)),
        methods_of_ports=methods_of_ports(root),
    )


def duplicates(known: Mapping[str, Module]) -> dict[str, int]:
    """Return the file names that are used twice or more, but ``__init__``, and how often; most often first."""
    names = Counter(module.path.stem for module in known.values() if module.path.stem != "__init__")
    return {name: times for name, times in sorted(names.items(), key=lambda each: (-each[1], each[0])) if times > 1}


def graph_when(arrows: Collection[Import], whens: Collection[When], place: Mapping[str, str]) -> Graph:
    """Return the graph of the imports that take place at one of *whens*, between the *place* of each module."""
    found = ((place[each.importer], place[each.imported]) for each in arrows if each.when in whens)
    return graph_of(found, place.values())


def upward(arrows: Collection[Import], layers: list[list[str]]) -> list[tuple[str, str]]:
    """Return which module names one of a layer above its own, or beside it in the same layer.

    *layers* are names of packages and modules, the upper layer first; what lies in none is left out.
    """
    heights = {name: len(layers) - number for number, names in enumerate(layers) for name in names}

    def layer(module: str) -> str | None:
        while module and module not in heights:
            module = module.rpartition(".")[0]
        return module or None

    found = set()
    for each in arrows:
        lower, upper = layer(each.importer), layer(each.imported)
        if lower is not None and upper is not None and lower != upper and heights[lower] <= heights[upper]:
            found.add((each.importer, each.imported))
    return sorted(found)


def _rooms(place: Mapping[str, str], arrows: Collection[Import]) -> Rooms:
    every = graph_when(arrows, tuple(When), place)
    at_once = graph_when(arrows, (When.AT_ONCE,), place)
    return Rooms(
        rooms=len(every),
        arrows=sum(map(len, every.values())),
        arrows_at_once=sum(map(len, at_once.values())),
        floors=max(floors(every).values(), default=0),
        circles=circles(at_once),
        lazy_circles=circles(graph_when(arrows, _RUN, place)),
        circles_for_types=circles(every),
    )


def _layers(root: Path) -> list[list[str]]:
    """Return the layers of the first contract of import-linter that has some; the names in each."""
    settings = tomllib.loads((root / "pyproject.toml").read_text()).get("tool", {}).get("importlinter", {})
    for contract in settings.get("contracts", ()):
        if contract["type"] == "layers" and not contract.get("containers"):
            layers: list[str] = contract["layers"]
            return [[name.strip(" ()") for name in layer.replace(":", "|").split("|")] for layer in layers]
    return []
