"""What a caller may do beside reading and writing: speak as the system, and choose what the operator's model is asked.

Whoever opens the ledger themselves, in a program or on the command line, may do everything. A service gives each caller
the rights of their credential. Source: trust I-32, M-6.
"""

from dataclasses import dataclass

from ledger.errors import InvalidInput, NotPermitted
from ledger.events import (
    ConfigChanged,
    EntriesReturned,
    EntryAdded,
    EntryEdited,
    Event,
    Extraction,
    JsonObject,
    OpaqueEvent,
    RebuildCompleted,
    RebuildRequested,
    SessionOpened,
    SummaryViewCreated,
    SummaryViewDefinition,
)
from ledger.session.state import SessionState
from projections.memory_config import config as memory_config
from projections.memory_config.config import MemoryConfig
from projections.memory_config.model_settings import NAMES, model_settings


@dataclass(frozen=True, slots=True)
class Rights:
    """Whether a caller may write entries of the system, and which *models* they may name; None means any setting."""

    system: bool = True
    models: frozenset[str] | None = None

    def check_config(self, config: MemoryConfig, *, known: MemoryConfig) -> None:
        """Refuse a *config* that asks the operator's model otherwise than defaults and the *known* config do.

        Raises:
            NotPermitted: ``model_settings_not_allowed``.
        """
        if self.models is None:
            return
        same = {(setting.name, setting.value) for setting in model_settings(known)}
        for setting in model_settings(config):
            if (setting.name, setting.value) in same:
                continue
            if setting.name in NAMES:
                self.check_model(setting.value, field=setting.path)
            else:
                raise _not_allowed(f"{setting.path} may only be set")

    def check_model(self, model: str | None, *, field: str = "model") -> None:
        """Refuse the name of a model that the operator does not allow.

        Raises:
            NotPermitted: ``model_settings_not_allowed``.
        """
        if self.models is not None and model is not None and model not in self.models:
            raise _not_allowed(f"{field} must be one of {', '.join(sorted(self.models))}, or be set")

    def check_view(self, view: SummaryViewDefinition) -> None:
        """Refuse a summary view with a prompt of its own, or a model that the operator does not allow.

        Raises:
            NotPermitted: ``model_settings_not_allowed``.
        """
        self.check_model(view.model_name, field="model_name")
        if self.models is not None and view.prompt is not None:
            raise _not_allowed("prompt may only be set")

    def check_extraction(self, extraction: Extraction | None, *, known: Extraction) -> None:
        """Refuse a prompt of one's own for extracting memories, unless it is the *known* one.

        Raises:
            NotPermitted: ``model_settings_not_allowed``.
        """
        if self.models is None or extraction is None or extraction == known:
            return
        if extraction.strategy == "custom":
            raise _not_allowed("the extraction strategy custom may only be set")

    def check_past(self, past: SessionState, now: SessionState) -> None:
        """Refuse to bring back a state of the *past* that asks the model otherwise than the session does *now*.

        Raises:
            NotPermitted: ``model_settings_not_allowed``.
        """
        self.check_config(past.config, known=now.config)
        self.check_extraction(past.working.extraction, known=now.working.extraction)

    def check_event(self, event: Event | OpaqueEvent, *, known: MemoryConfig) -> None:
        """Refuse an event of a file that the caller could not have caused by a request.

        Raises:
            NotPermitted: ``role_not_allowed``, ``model_settings_not_allowed``, or ``newer_event``: nobody can tell
                what it allows once the service is updated.
        """
        if isinstance(event, OpaqueEvent) and not (self.system and self.models is None):
            raise NotPermitted(
                "newer_event", f"a newer release wrote {event.type}; its import needs the scopes 'admin' and 'system'"
            )
        if isinstance(event, EntryAdded):
            self.check_role(event.role, event.kind)
        if isinstance(event, EntryEdited) and event.role is not None:
            self.check_role(event.role, "message")
        if isinstance(event, EntriesReturned):
            for entry in event.entries:
                self.check_role(entry.role, entry.kind)
        configures = SessionOpened | ConfigChanged | RebuildRequested | RebuildCompleted
        if self.models is not None and isinstance(event, configures):
            self.check_config(_loaded(event.config), known=known)
        if isinstance(event, SummaryViewCreated):
            self.check_view(event.definition)
        if isinstance(event, ConfigChanged):
            self.check_extraction(event.extraction, known=Extraction())

    def check_role(self, role: str, kind: str) -> None:
        """Refuse an entry of the system.

        Raises:
            NotPermitted: ``role_not_allowed``.
        """
        if role == "system" or kind == "system_instruction":
            self.check_system()

    def check_system(self) -> None:
        """Refuse entries of the role system.

        Raises:
            NotPermitted: ``role_not_allowed``.
        """
        if not self.system:
            raise NotPermitted("role_not_allowed", "the role system needs a credential with the scope 'system'")


OWNER = Rights()


def _loaded(config: JsonObject) -> MemoryConfig:
    try:
        return memory_config.load(config)
    except InvalidInput as fault:
        raise _not_allowed(f"a config that this service cannot read ({fault}) may only be imported") from None


def _not_allowed(what: str) -> NotPermitted:
    return NotPermitted("model_settings_not_allowed", f"{what} with a credential that has the scope 'admin'")
