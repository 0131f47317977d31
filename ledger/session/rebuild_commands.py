"""The commands of a rebuild: asked for, answered by a model, ended, completed."""

from typing import NamedTuple

import msgspec

from ledger.events import CompactionCompleted, CompactionRequested, RebuildAnswered, RebuildFailed, ReturnedEntry
from ledger.session.state import SessionState
from projections.memory_config.config import MemoryConfig


class RequestRebuild(msgspec.Struct, frozen=True):
    """Ask that the history since the last clear is shown as if *config* had always applied."""

    write_id: str
    rebuild_id: str
    config: MemoryConfig


class AnswerRebuild(msgspec.Struct, frozen=True):
    """Record the text that a model wrote for a running rebuild."""

    answered: RebuildAnswered


class FailRebuild(msgspec.Struct, frozen=True):
    """Record that a running rebuild ends without a result."""

    failed: RebuildFailed


class ReplayedCompaction(NamedTuple):
    """A compaction of a replay; *task* is the version of the entry that its prompts name as the task, or 0."""

    request: CompactionRequested
    outcome: CompactionCompleted
    task: int


class CompleteRebuild(msgspec.Struct, frozen=True, kw_only=True):
    """Make the session what a replay of its history ended in.

    *compactions* are those of the replay since the last clear; *returned* the entries that are in its window and not
    in the session's, or that only the session erased; *removed* the versions of those that were removed.
    """

    write_id: str
    rebuild_id: str
    wanted: SessionState
    compactions: tuple[ReplayedCompaction, ...]
    returned: tuple[ReturnedEntry, ...]
    removed: frozenset[int]
