"""A griffe extension for the Python API page: bound functions become methods, and docstrings cite no rules.

`MemoryLedger` binds functions of `ledger.application` as class attributes. The page shows such an attribute as a
method: the function without its first parameter, the handle.
"""

import importlib
from typing import Any

import griffe

from tools.rules import without_rules

#: The classes whose attributes may be bound functions, by module.
_FACADES = (("memory", "MemoryLedger"), ("long_term_memory", "LongTermMemory"))


class ApiDocstrings(griffe.Extension):
    """Cleans docstrings and shows bound functions as methods."""

    def on_instance(self, *, obj: griffe.Object, **_: Any) -> None:
        """Clean the docstring of *obj*."""
        if obj.docstring:
            obj.docstring.value = without_rules(obj.docstring.value)

    def on_package(self, *, pkg: griffe.Module, **_: Any) -> None:
        """Replace bound functions of the facades by methods."""
        for module, name in _FACADES:
            if pkg.name == "ledger" and module in pkg.members and name in pkg[module].members:
                bind(pkg, pkg[module][name], getattr(importlib.import_module(f"ledger.{module}"), name))


def bind(pkg: griffe.Module, cls: griffe.Class, real: type) -> None:
    """Replace the attributes of *cls* that are bound functions of *pkg* in the *real* class by methods."""
    for name, member in list(cls.members.items()):
        bound = getattr(getattr(real, name, None), "__wrapped__", None)
        if isinstance(member, griffe.Attribute) and bound is not None:
            source = pkg[f"{bound.__module__}.{bound.__qualname__}".removeprefix(f"{pkg.name}.")]
            cls.set_member(name, _method(name, source))


def _method(name: str, source: griffe.Function) -> griffe.Function:
    _handle, *others = source.parameters
    method = griffe.Function(
        name,
        parameters=griffe.Parameters(*others),
        returns=source.returns,
        docstring=source.docstring,
        lineno=source.lineno,
        endlineno=source.endlineno,
    )
    method.labels = {*source.labels}
    return method
