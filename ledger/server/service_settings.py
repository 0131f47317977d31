"""The settings of the service, read once from the environment.

The variables of the working-memory API keep their names (http W-12); our own begin with ``MEMORY_LEDGER_``.
"""

import re
import secrets
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ledger.errors import InvalidInput
from ledger.settings import Settings, load

AuthMode: TypeAlias = Literal["none", "token", "oidc", "token+oidc"]

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_PREFIX: Final = "MEMORY_LEDGER_"
_KEY_CHARACTERS: Final = 32


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


#: A comma-separated list.
CommaSeparated: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


def _own(name: str) -> str:
    return f"{_PREFIX}{name.upper()}"


class ServiceSettings(BaseSettings):
    """The settings of the service; those of the ledger are `ledger.settings.Settings`."""

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, extra="ignore")

    # http W-12: the names that users of the working-memory API already have in their environment
    summarization_threshold: Decimal = Field(default=Decimal("0.7"), gt=0, le=1)
    """How full a model's window may be before a summary is written, as a part of 1."""
    generation_model: str = "gpt-4o-mini"
    """The model that writes summaries and extracts memories."""
    progressive_summarization_prompt: str | None = None
    """Replaces the built-in prompt; must contain ``{prev_summary}`` and ``{messages_joined}``."""
    long_term_memory: bool = True
    """False: long-term memory is off (http W-35)."""
    index_all_messages_in_long_term_memory: bool = False
    """True: each message becomes a record, and expired sessions are restored (http W-22, W-50)."""
    enable_working_memory_summarization: bool = True
    """False: no automatic compaction."""
    summarization_wait_seconds: float = Field(default=20, ge=0, le=600)
    """How long a PUT waits for its compaction (http W-45), at most half of the request timeout."""
    require_message_timestamps: bool = False
    """True: messages without ``created_at`` are refused."""
    max_future_timestamp_seconds: int = Field(default=300, ge=0)
    """How far in the future a ``created_at`` may be (http W-16)."""
    extraction_debounce_seconds: float = Field(default=30, ge=0)
    """How long a session must be quiet before memories are extracted from it."""
    auth_mode: AuthMode = "none"
    """How callers authenticate (http W-74); ``none`` only on a loopback address."""

    host: str = Field(default="127.0.0.1", validation_alias=_own("host"))
    """The address to listen on."""
    port: int = Field(default=8000, ge=0, le=65535, validation_alias=_own("port"))
    """The port to listen on."""
    management_port: int | None = Field(default=None, ge=0, le=65535, validation_alias=_own("management_port"))
    """A second port that answers ``/readyz``, ``/healthz`` and ``/metrics`` to everybody, and nothing else."""
    management_host: str = Field(default="127.0.0.1", validation_alias=_own("management_host"))
    """The address of that port."""
    drain_s: float = Field(default=0, ge=0, le=600, validation_alias=_own("drain_s"))
    """How long the service still accepts requests after SIGTERM, while ``/readyz`` says that it stops."""
    allowed_hosts: CommaSeparated = Field(default=(), validation_alias=_own("allowed_hosts"))
    """The names allowed in the ``Host`` header, without port; if empty, any valid name."""
    worker: bool = Field(default=True, validation_alias=_own("worker"))
    """Whether this process also does background work."""
    docs: bool = Field(default=False, validation_alias=_own("docs"))
    """Whether ``/docs`` and ``/openapi.json`` are served (trust S-12)."""
    ui: bool = Field(default=True, validation_alias=_own("ui"))
    """Whether ``/ui`` serves the viewer."""
    ui_key: SecretStr | None = Field(default=None, validation_alias=_own("ui_key"))
    """Proves the cookies of the viewer; at least 32 characters. Without it, a start of the service ends all logins."""
    mcp: Literal["on", "read_only", "off"] | None = Field(default=None, validation_alias=_own("mcp"))
    """Whether ``/mcp`` serves the Model Context Protocol, and whether its tools may write; by default if installed."""
    metrics: bool = Field(default=False, validation_alias=_own("metrics"))
    """Whether ``/metrics`` is served."""
    tracing: bool = Field(default=False, validation_alias=_own("tracing"))
    """Whether spans are exported, to the address in the ``OTEL_…`` variables."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", validation_alias=_own("log_level"))
    """The log level; content is never logged."""
    max_body_bytes: int = Field(default=8 * 1024 * 1024, ge=1024, validation_alias=_own("max_body_bytes"))
    """The largest request body (trust N-1)."""
    max_header_bytes: int = Field(default=16 * 1024, ge=1024, validation_alias=_own("max_header_bytes"))
    """The largest head of a request (trust N-1)."""
    max_path_bytes: int = Field(default=4 * 1024, ge=256, validation_alias=_own("max_path_bytes"))
    """The longest path and query together (trust N-1)."""
    receive_timeout_s: float = Field(default=15, gt=0, validation_alias=_own("receive_timeout_s"))
    """How long a request may take to arrive completely (trust N-1)."""
    request_timeout_s: float = Field(default=60, gt=0, validation_alias=_own("request_timeout_s"))
    """How long an answer may take to start; streams may continue."""
    shutdown_grace_s: int = Field(default=30, gt=0, validation_alias=_own("shutdown_grace_s"))
    """How long accepted requests may take to finish when the service stops."""
    max_concurrency: int = Field(default=256, ge=1, validation_alias=_own("max_concurrency"))
    """The number of requests at once; further ones get 503."""
    rate_limit_per_s: float = Field(default=0, ge=0, validation_alias=_own("rate_limit_per_s"))
    """Requests per second of each caller; 0 means no limit."""
    rate_limit_burst: int = Field(default=100, ge=1, validation_alias=_own("rate_limit_burst"))
    """How many requests of a caller may come in one burst."""
    event_limit_per_s: float = Field(default=0, ge=0, validation_alias=_own("event_limit_per_s"))
    """Events per second that each caller may write, on average over a minute; 0 means no limit (trust S-9)."""
    body_bytes_per_day: int = Field(default=0, ge=0, validation_alias=_own("body_bytes_per_day"))
    """Bytes of bodies that each caller may send in a day; 0 means no limit (trust S-9)."""
    compactions_in_a_row: int = Field(default=10, ge=1, validation_alias=_own("compactions_in_a_row"))
    """After how many calls of models no further compaction follows a write, and a rebuild pauses; the worker does the
    rest, as many at a time (trust M-6). A compaction without a model counts as one call."""
    open_namespaces: int = Field(default=256, ge=1, validation_alias=_own("open_namespaces"))
    """How many namespaces keep their indexes in memory."""
    allowed_models: CommaSeparated = Field(default=(), validation_alias=_own("allowed_models"))
    """The models that callers without the scope ``admin`` may name in a config, beside those of the service."""
    reports: Path | None = Field(default=None, validation_alias=_own("reports"))
    """The folder with reports of backtests that callers who may read all namespaces are shown."""
    oidc_issuer: str | None = Field(default=None, validation_alias=_own("oidc_issuer"))
    """The required ``iss`` of JWTs."""
    oidc_audience: str | None = Field(default=None, validation_alias=_own("oidc_audience"))
    """The required ``aud`` of JWTs."""
    oidc_jwks_url: str | None = Field(default=None, validation_alias=_own("oidc_jwks_url"))
    """The URL of the issuer's keys, which are fetched from nowhere else."""
    oidc_hmac_key: SecretStr | None = Field(default=None, validation_alias=_own("oidc_hmac_key"))
    """A shared key instead of published keys, at least 32 bytes."""
    oidc_algorithms: CommaSeparated = Field(default=("RS256", "ES256"), validation_alias=_own("oidc_algorithms"))
    """The allowed signature algorithms of published keys."""
    oidc_max_lifetime_s: int = Field(default=86_400, ge=60, validation_alias=_own("oidc_max_lifetime_s"))
    """The longest lifetime of a JWT."""
    oidc_scopes_claim: str = Field(default="scope", validation_alias=_own("oidc_scopes_claim"))
    """The claim with the scopes: a list, or a text separated by spaces."""
    oidc_namespaces_claim: str = Field(
        default="memory_ledger_namespaces", validation_alias=_own("oidc_namespaces_claim")
    )
    """The claim with a list of namespaces; ``*`` in it means all."""
    oidc_private_networks: bool = Field(default=False, validation_alias=_own("oidc_private_networks"))
    """Whether the keys may come from a private or loopback address (trust S-11)."""

    def with_model_of(self, settings: Settings) -> "ServiceSettings":
        """Return them with the model of *settings*, which takes precedence, as the one that new sessions name."""
        if settings.summarizer_model is None:
            return self
        return self.model_copy(update={"generation_model": settings.summarizer_model})

    def with_ui_key(self) -> "ServiceSettings":
        """Return them with a key of their own for logins in a browser if they have none, which processes then share."""
        made = {} if self.ui_key is not None else {"ui_key": SecretStr(secrets.token_hex(32))}
        return self.model_copy(update=made)

    @property
    def longest_put_wait_s(self) -> float:
        """How long a PUT waits for its summary: short enough to answer before the request times out."""
        return min(self.summarization_wait_seconds, self.request_timeout_s / 2)

    @field_validator("progressive_summarization_prompt")
    @classmethod
    def _has_its_placeholders(cls, prompt: str | None) -> str | None:
        if prompt is not None and not all(place in prompt for place in ("{prev_summary}", "{messages_joined}")):
            raise PydanticCustomError("bad_prompt", "must contain {{prev_summary}} and {{messages_joined}}")
        return prompt

    @field_validator("ui_key")
    @classmethod
    def _is_long(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and len(key.get_secret_value()) < _KEY_CHARACTERS:
            raise PydanticCustomError("short_key", f"must have at least {_KEY_CHARACTERS} characters")
        return key

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", host) for host in hosts):
            raise PydanticCustomError("bad_host", "must be host names, separated by commas")
        return tuple(host.lower() for host in hosts)

    @model_validator(mode="after")
    def _can_check_tokens(self) -> "ServiceSettings":
        if "oidc" in self.auth_mode:
            if not (self.oidc_issuer and self.oidc_audience):
                raise PydanticCustomError(
                    "oidc", "oidc needs MEMORY_LEDGER_OIDC_ISSUER and MEMORY_LEDGER_OIDC_AUDIENCE"
                )
            if (self.oidc_jwks_url is None) == (self.oidc_hmac_key is None):
                raise PydanticCustomError(
                    "oidc", "oidc needs one of MEMORY_LEDGER_OIDC_JWKS_URL and MEMORY_LEDGER_OIDC_HMAC_KEY"
                )
        if self.oidc_hmac_key is not None and len(self.oidc_hmac_key.get_secret_value().encode()) < 32:
            raise PydanticCustomError("oidc", "MEMORY_LEDGER_OIDC_HMAC_KEY must have at least 32 bytes")
        return self


def load_service_settings(**overrides: object) -> ServiceSettings:
    """Return the settings of this environment; *overrides* that are not None win.

    Raises:
        InvalidInput: ``bad_setting``, naming the variable.
    """
    return load(ServiceSettings, overrides, otherwise="auth_mode")


def check_address(settings: ServiceSettings) -> None:
    """Refuse to serve other machines without authentication (trust S-1, http W-74).

    Raises:
        InvalidInput: ``unsafe_address``.
    """
    if settings.auth_mode == "none" and settings.host.lower() not in LOOPBACK:
        raise InvalidInput(
            "unsafe_address",
            "must be a loopback address without authentication; set AUTH_MODE to token or oidc",
            field="host",
        )
