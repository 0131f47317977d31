"""Conditions on messages and interactions, checked against an allow-list when a config is loaded.

    message.role != 'tool' and interaction.tokens < 500

A condition can only compare, combine and look up. simpleeval evaluates it with nothing but these operators and five
functions. Source: R-CND-1 … R-CND-5, trust N-9, I-75, I-76.
"""

import ast
import operator
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import lru_cache
from typing import Any, Final, TypeAlias

import msgspec
from simpleeval import EvalWithCompoundTypes

CHARACTERS: Final = 500
NODES: Final = 100
DEPTH: Final = 20
LITERAL: Final = 200
PER_STRATEGY: Final = 20
LARGEST: Final = 2**53

Facts: TypeAlias = Mapping[str, Any]

_FUNCTIONS: Final[Mapping[str, tuple[int, Callable[..., Any]]]] = {
    "len": (1, len),
    "lower": (1, str.lower),
    "startswith": (2, str.startswith),
    "endswith": (2, str.endswith),
    "contains": (2, operator.contains),
}
_COMPARISONS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
    ast.In: lambda item, container: item in container,
    ast.NotIn: lambda item, container: item not in container,
    ast.Is: operator.is_,
    ast.IsNot: operator.is_not,
}
_UNARY: Final[Mapping[type[ast.unaryop], Callable[[Any], Any]]] = {ast.Not: operator.not_, ast.USub: operator.neg}
_NAMES: Final = {"message", "interaction"}


class ConditionResult(msgspec.Struct, frozen=True):
    """Whether a condition holds; *diagnostic* if it compared values that cannot be compared, which counts as false."""

    holds: bool
    diagnostic: str | None = None


class _Evaluator(EvalWithCompoundTypes):  # type: ignore[misc]  # it has no types
    """simpleeval with these operators and functions only; an attribute is a look-up in a mapping."""

    def __init__(self, facts: Facts) -> None:
        operators: dict[type, Callable[..., Any]] = {**_COMPARISONS, **_UNARY}
        super().__init__(operators=operators, names=dict(facts))
        # set afterwards, because the library adds its own: list, tuple, dict, set
        self.functions = {name: function for name, (_, function) in _FUNCTIONS.items()}

    def _eval_attribute(self, node: ast.Attribute) -> Any:
        return _find(self._eval(node.value), node.attr)

    def _eval_subscript(self, node: ast.Subscript) -> Any:
        return _find(self._eval(node.value), self._eval(node.slice))


def _find(value: Any, key: str) -> Any:
    return value.get(key) if isinstance(value, Mapping) else None


def check(text: str) -> None:
    """Refuse a text that is not a condition.

    Raises:
        ValueError: it says what is not allowed, and never repeats the text.
    """
    _parse(text)


def evaluate(text: str, facts: Facts) -> ConditionResult:
    """Return whether the checked condition *text* holds for ``{"message": …, "interaction": …}``."""
    return _evaluate(_parse(text), facts)


def _evaluate(expression: ast.expr, facts: Facts) -> ConditionResult:
    try:
        return ConditionResult(bool(_Evaluator(facts).eval("", previously_parsed=expression)))
    except (TypeError, AttributeError) as fault:
        return ConditionResult(False, f"{type(fault).__name__}: {fault}")


def holds(texts: Sequence[str], messages: Sequence[Facts], interaction: Facts) -> bool:
    """Tell whether every condition is true for every message of an interaction. Source: R-003-5."""
    return all(
        evaluate(text, {"message": message, "interaction": interaction}).holds for text in texts for message in messages
    )


def may_hold(texts: Sequence[str], examples: Iterable[Facts], *, unknown: Mapping[str, Collection[str]]) -> bool:
    """Tell whether the checked conditions *texts* can all hold for one of *examples*.

    *unknown* names the facts, such as ``{"message": ["content"]}``, that may have any value.
    """
    trees = [_parse(text) for text in texts]
    return any(all(_may_be(tree, facts, unknown)[0] for tree in trees) for facts in examples)


def numbers_in(texts: Sequence[str]) -> set[int]:
    """Return the whole parts of the numbers in the checked conditions *texts*."""
    found = [node.value for text in texts for node in ast.walk(_parse(text)) if isinstance(node, ast.Constant)]
    return {int(value) for value in found if isinstance(value, int | float) and abs(value) < LARGEST}


def names_in(texts: Sequence[str]) -> set[tuple[str, str]]:
    """Return the facts that the checked conditions *texts* look up, such as ``("message", "role")``."""
    nodes = (node for text in texts for node in ast.walk(_parse(text)))
    return {name for node in nodes if (name := _looked_up(node)) is not None}


def _may_be(node: ast.expr, facts: Facts, unknown: Mapping[str, Collection[str]]) -> tuple[bool, bool]:
    """Return whether *node* can be true, and whether it can be false."""
    match node:
        case ast.BoolOp(op=op, values=inner):
            can = [_may_be(each, facts, unknown) for each in inner]
            true, false = [true for true, _ in can], [false for _, false in can]
            return (all(true), any(false)) if isinstance(op, ast.And) else (any(true), all(false))
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return _may_be(operand, facts, unknown)[::-1]
    if any(_is_unknown(each, unknown) for each in ast.walk(node)):
        return True, True
    found = _evaluate(node, facts)
    return found.holds, not found.holds and found.diagnostic is None


def _is_unknown(node: ast.AST, unknown: Mapping[str, Collection[str]]) -> bool:
    found = _looked_up(node)
    return found is not None and found[1] in unknown.get(found[0], ())


def _looked_up(node: ast.AST) -> tuple[str, str] | None:
    match node:
        case (
            ast.Attribute(value=ast.Name(id=name), attr=key)
            | ast.Subscript(value=ast.Name(id=name), slice=ast.Constant(value=str() as key))
        ):
            return name, key
        case _:
            return None


@lru_cache(maxsize=256)
def _parse(text: str) -> ast.expr:
    if len(text) > CHARACTERS:
        raise ValueError(f"a condition must have at most {CHARACTERS} characters")
    if not text.strip():
        raise ValueError("a condition must not be empty")
    try:
        tree = ast.parse(text.strip(), mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError) as fault:
        raise ValueError("the condition is not a valid expression") from fault
    _check(tree.body, 1)
    if sum(1 for _ in ast.walk(tree.body)) > NODES:
        raise ValueError(f"a condition must have at most {NODES} nodes")
    return tree.body


def _check(node: ast.expr, depth: int) -> None:
    if depth > DEPTH:
        raise ValueError(f"a condition must be at most {DEPTH} levels deep")
    if isinstance(node, ast.Constant):
        _check_constant(node.value)
        return
    for part in _parts(node):
        _check(part, depth + 1)


def _parts(node: ast.expr) -> Sequence[ast.expr]:
    """Return the expressions inside *node*.

    Raises:
        ValueError: its form is not allowed (R-CND-2).
    """
    match node:
        case ast.BoolOp(values=inner) | ast.List(elts=inner) | ast.Tuple(elts=inner):
            return inner
        case ast.UnaryOp(op=ast.Not(), operand=operand):
            return [operand]
        case ast.UnaryOp(op=ast.USub(), operand=ast.Constant(value=number) as operand) if type(number) in {int, float}:
            return [operand]
        case ast.Compare(left=left, ops=operators, comparators=others) if _COMPARISONS.keys() >= set(
            map(type, operators)
        ):
            return [left, *others]
        case ast.Name(id=name) if name in _NAMES:
            return []
        case ast.Attribute(value=value, attr=name) if not name.startswith("_"):
            return [value]
        case ast.Subscript(value=value, slice=ast.Constant(value=str() as key)) if not key.startswith("_"):
            return [value, node.slice]
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if _fits(name, arguments):
            return arguments
        case _:
            raise ValueError(f"not allowed: {_why_not(node)}")


def _why_not(node: ast.expr) -> str:
    match node:
        case ast.Name(id=name) if name in _FUNCTIONS:
            return f"{name} is a function; call it"
        case ast.Name():
            return "a condition can only use `message` and `interaction`"
        case ast.Attribute() | ast.Subscript():
            return "look up names, such as message.role, that do not begin with an underscore"
        case ast.Call():
            return f"a condition can only call {', '.join(_FUNCTIONS)}, with the right number of arguments"
        case _:
            return "a condition can only compare and combine (==, <, in, and, or, not)"


def _check_constant(value: object) -> None:
    if value is not None and type(value) not in {bool, int, float, str}:
        raise ValueError(f"{type(value).__name__} is not allowed in a condition")
    if isinstance(value, str) and len(value) > LITERAL:
        raise ValueError(f"a text in a condition must have at most {LITERAL} characters")


def _fits(name: str, arguments: list[ast.expr]) -> bool:
    return name in _FUNCTIONS and len(arguments) == _FUNCTIONS[name][0]
