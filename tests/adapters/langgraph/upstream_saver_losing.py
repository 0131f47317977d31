"""A plugin that puts a saver in the place of the SDK's own that forgets what tasks wrote, and prunes everything."""

from typing import Any

from upstream_saver import (  # type: ignore[import-not-found]  # a folder on the path of the SDK's tests
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
)

from ledger.adapters.langgraph.checkpoint_removal import Removals
from ledger.adapters.langgraph.task_writing import TaskWriting

__all__ = ["pytest_addoption", "pytest_collection_modifyitems", "pytest_configure"]


async def forget(*args: Any, **options: Any) -> None:
    pass


async def need_nothing(*args: Any, **options: Any) -> set[Any]:
    return set()


TaskWriting.put_writes = forget  # type: ignore[method-assign]
Removals._needed = need_nothing  # type: ignore[method-assign]
