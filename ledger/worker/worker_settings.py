"""The settings of background work, read once from the environment.

The variables of the working-memory API keep their names (http W-12); our own begin with ``MEMORY_LEDGER_WORKER_``.
"""

from typing import Final

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from ledger.ports.job_queue import JobKind
from ledger.settings import load

_PREFIX: Final = "MEMORY_LEDGER_WORKER_"


class WorkerSettings(BaseSettings):
    """The settings of a worker; those of the ledger are `ledger.settings.Settings`."""

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, extra="ignore")

    extraction_debounce_seconds: float = Field(default=30, ge=0)
    """How long a session must be quiet before memories are extracted from it (http W-48)."""
    long_term_memory: bool = True
    """False: no memories are extracted, promoted or indexed (http W-35)."""
    index_all_messages_in_long_term_memory: bool = False
    """True: each message becomes a record (http W-50)."""
    enable_working_memory_summarization: bool = True
    """False: no compaction is started or taken over."""
    summary_view_refresh_every_minutes: float = Field(default=60, ge=0.005)
    """How often a continuous summary view is run (http W-38)."""
    generation_model: str = "gpt-4o-mini"
    """The model to use if only its endpoint or key is set (http W-12)."""
    concurrency: int = Field(default=4, ge=1, le=64, validation_alias=f"{_PREFIX}CONCURRENCY")
    """Jobs at once, in one process."""
    poll_s: float = Field(default=1, gt=0, le=60, validation_alias=f"{_PREFIX}POLL_S")
    """How often an idle worker looks for work."""
    lease_s: float = Field(default=60, gt=0, le=3600, validation_alias=f"{_PREFIX}LEASE_S")
    """How long after a worker stops another one takes over its job; a running worker renews its lease."""
    retry_s: float = Field(default=5, gt=0, le=600, validation_alias=f"{_PREFIX}RETRY_S")
    """The wait after a first failure; each further failure doubles it, up to half an hour."""
    grace_s: float = Field(default=10, ge=0, le=600, validation_alias=f"{_PREFIX}GRACE_S")
    """How long running jobs may take to end when the worker stops."""

    compactions_in_a_row: int = Field(default=10, ge=1, validation_alias="MEMORY_LEDGER_COMPACTIONS_IN_A_ROW")
    """After how many calls of models a job starts no further compaction, and pauses a rebuild (trust M-6)."""

    def kinds(self, *, extracts: bool) -> tuple[JobKind, ...]:
        """Return the kinds of jobs to do; only a worker with a model *extracts*."""
        kinds: list[JobKind] = ["compact"] if self.enable_working_memory_summarization else []
        if self.long_term_memory:
            kinds += ["extract", "promote", "summarize"] if extracts else ["promote", "summarize"]
            if self.index_all_messages_in_long_term_memory:
                kinds.append("index")
        return tuple(kinds)


def load_worker_settings(**overrides: object) -> WorkerSettings:
    """Return the settings of this environment; *overrides* that are not None win.

    Raises:
        InvalidInput: ``bad_setting``, naming the variable.
    """
    return load(WorkerSettings, overrides)
