"""Where a checkpoint is stored, with what is kept for it. Source: adapters LG-2, LG-3."""

from typing import Any

import msgspec
from langchain_core.runnables import RunnableConfig

from ledger.adapters.langgraph.keys import config_of
from ledger.adapters.langgraph.stored_checkpoints import stored_values


class CheckpointPlace(msgspec.Struct, frozen=True):
    """A stored checkpoint: its thread, namespace and id, and the value that is kept for it."""

    thread_id: str
    namespace: str
    checkpoint_id: str
    stored: dict[str, Any]
    version: int

    @property
    def config(self) -> RunnableConfig:
        """The config that names it."""
        return config_of(self.thread_id, self.namespace, self.checkpoint_id)

    @property
    def values(self) -> dict[str, Any]:
        """The version and the reference of each channel."""
        return stored_values(self.stored["values"])
