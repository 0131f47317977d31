"""A store whose n-th call fails. Source: trust §10, F-10."""

import inspect
from collections.abc import Callable
from typing import Any

from ledger.errors import DatabaseUnavailable


class FailsNthCall:
    """The *store* but for its call number *n*, which is not carried out, or *after* it was loses its answer."""

    def __init__(self, store: Any, n: int, *, after: bool) -> None:
        self._store = store
        self._n = n
        self._after = after
        self._calls = 0

    @property
    def failed(self) -> bool:
        """Whether the call that fails was made."""
        return self._calls >= self._n

    def __getattr__(self, name: str) -> Callable[..., Any]:
        method = getattr(self._store, name)
        if name == "close" or not inspect.iscoroutinefunction(method):
            return method

        async def called(*arguments: Any, **named: Any) -> Any:
            self._calls += 1
            fails = self._calls == self._n
            if fails and not self._after:
                raise DatabaseUnavailable(f"{name}, call {self._n}, is refused")
            answer = await method(*arguments, **named)
            if fails:
                raise DatabaseUnavailable(f"the answer to {name}, call {self._n}, is lost")
            return answer

        return called
