"""Circles and floors of a graph: of each node, the nodes that it needs."""

from collections.abc import Iterable, Mapping
from itertools import count
from typing import TypeAlias

Graph: TypeAlias = dict[str, set[str]]


def graph_of(arrows: Iterable[tuple[str, str]], nodes: Iterable[str] = ()) -> Graph:
    """Return the graph of *arrows* between different nodes, and of *nodes* that may have none."""
    graph: Graph = {node: set() for node in nodes}
    for one, other in arrows:
        graph.setdefault(one, set())
        graph.setdefault(other, set())
        if one != other:
            graph[one].add(other)
    return graph


def components(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the strongly connected components, each sorted, those that need nothing first (Tarjan's algorithm)."""
    numbers = count()
    seen: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(node: str) -> None:
        seen[node] = lowest[node] = next(numbers)
        stack.append(node)
        for needed in sorted(graph[node]):
            if needed not in seen:
                visit(needed)
            if needed in stack:
                lowest[node] = min(lowest[node], lowest[needed])
        if lowest[node] == seen[node]:
            at = stack.index(node)
            found.append(sorted(stack[at:]))
            del stack[at:]

    for node in sorted(graph):
        if node not in seen:
            visit(node)
    return found


def circles(graph: Mapping[str, set[str]]) -> list[list[str]]:
    """Return the groups of nodes that need each other, largest first."""
    return sorted((each for each in components(graph) if len(each) > 1), key=lambda each: (-len(each), each))


def floors(graph: Mapping[str, set[str]]) -> dict[str, int]:
    """Return the floor of each node, 1 for one that needs nothing; the members of a circle share one."""
    found: dict[str, int] = {}
    for component in components(graph):
        below = {needed for node in component for needed in graph[node]} - set(component)
        found |= dict.fromkeys(component, 1 + max((found[needed] for needed in below), default=0))
    return found
