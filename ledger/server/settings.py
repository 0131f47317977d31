"""The environment of the service, read once into frozen settings.

The variables of the working-memory API keep their names (http W-12); our own begin with ``MEMORY_LEDGER_``.
"""

import re
from decimal import Decimal
from typing import Annotated, Final, Literal, TypeAlias

from pydantic import BeforeValidator, Field, SecretStr, field_validator, model_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, NoDecode, SettingsConfigDict

from ledger.errors import InvalidInput
from ledger.settings import load

AuthMode: TypeAlias = Literal["none", "token", "oidc", "token+oidc"]

LOOPBACK: Final = frozenset({"127.0.0.1", "::1", "localhost"})
_PREFIX: Final = "MEMORY_LEDGER_"


def _listed(value: object) -> object:
    return tuple(part.strip() for part in value.split(",") if part.strip()) if isinstance(value, str) else value


#: Texts separated by commas.
CommaSeparated: TypeAlias = Annotated[tuple[str, ...], NoDecode, BeforeValidator(_listed)]


def _own(name: str) -> str:
    return f"{_PREFIX}{name.upper()}"


class ServiceSettings(BaseSettings):
    """What can be set for the service; the ledger's own settings are `ledger.settings.Settings`."""

    model_config = SettingsConfigDict(env_ignore_empty=True, frozen=True, extra="ignore")

    # http W-12, under the names that users of the working-memory API have set already
    summarization_threshold: Decimal = Field(default=Decimal("0.7"), gt=0, le=1)
    """The part of a model's window that may fill before a summary is made."""
    generation_model: str = "gpt-4o-mini"
    """The model that writes summaries and extracts memories."""
    progressive_summarization_prompt: str | None = None
    """In place of the built-in one; holds ``{prev_summary}`` and ``{messages_joined}``."""
    long_term_memory: bool = True
    """False turns long-term memory off (http W-35)."""
    index_all_messages_in_long_term_memory: bool = False
    """True makes each message a record, and expired sessions come back (http W-22, W-50)."""
    enable_working_memory_summarization: bool = True
    """False: no automatic compaction."""
    summarization_wait_seconds: float = Field(default=20, ge=0, le=600)
    """How long a PUT waits for its compaction (http W-45), at most half of the request's time."""
    require_message_timestamps: bool = False
    """True refuses messages without ``created_at``."""
    max_future_timestamp_seconds: int = Field(default=300, ge=0)
    """How far ahead a ``created_at`` may be (http W-16)."""
    extraction_debounce_seconds: float = Field(default=30, ge=0)
    """Quiet time before an extraction."""
    auth_mode: AuthMode = "none"
    """Who may call (http W-74); ``none`` only on a loopback address."""

    # our own
    host: str = Field(default="127.0.0.1", validation_alias=_own("host"))
    """The address to listen on."""
    port: int = Field(default=8000, ge=0, le=65535, validation_alias=_own("port"))
    """The port to listen on."""
    allowed_hosts: CommaSeparated = Field(default=(), validation_alias=_own("allowed_hosts"))
    """Names the ``Host`` header may have, without port; none: any well-formed one."""
    worker: bool = Field(default=True, validation_alias=_own("worker"))
    """Whether this process also does background work."""
    docs: bool = Field(default=False, validation_alias=_own("docs"))
    """Whether ``/docs`` and ``/openapi.json`` are served (trust S-12)."""
    metrics: bool = Field(default=False, validation_alias=_own("metrics"))
    """Whether ``/metrics`` is served."""
    tracing: bool = Field(default=False, validation_alias=_own("tracing"))
    """Whether spans are exported; where to, the variables ``OTEL_…`` say."""
    log_level: Literal["DEBUG", "INFO", "WARNING", "ERROR"] = Field(default="INFO", validation_alias=_own("log_level"))
    """How much is logged; never content."""
    max_body_bytes: int = Field(default=8 * 1024 * 1024, ge=1024, validation_alias=_own("max_body_bytes"))
    """Trust N-1."""
    max_header_bytes: int = Field(default=16 * 1024, ge=1024, validation_alias=_own("max_header_bytes"))
    """Trust N-1."""
    max_path_bytes: int = Field(default=4 * 1024, ge=256, validation_alias=_own("max_path_bytes"))
    """Of path and query together, trust N-1."""
    receive_timeout_s: float = Field(default=15, gt=0, validation_alias=_own("receive_timeout_s"))
    """For a request to arrive whole, trust N-1."""
    request_timeout_s: float = Field(default=60, gt=0, validation_alias=_own("request_timeout_s"))
    """For an answer to begin; streams may go on."""
    shutdown_grace_s: int = Field(default=30, gt=0, validation_alias=_own("shutdown_grace_s"))
    """How long accepted requests may take to finish when the service stops."""
    max_concurrency: int = Field(default=256, ge=1, validation_alias=_own("max_concurrency"))
    """Connections and requests at once; more are answered 503."""
    rate_limit_per_s: float = Field(default=0, ge=0, validation_alias=_own("rate_limit_per_s"))
    """Requests per second of each caller, 0 without limit."""
    rate_limit_burst: int = Field(default=100, ge=1, validation_alias=_own("rate_limit_burst"))
    """How many of them may come at once."""
    event_limit_per_s: float = Field(default=0, ge=0, validation_alias=_own("event_limit_per_s"))
    """Events per second that each caller may cause, on average over a minute; 0 without limit (trust S-9)."""
    body_bytes_per_day: int = Field(default=0, ge=0, validation_alias=_own("body_bytes_per_day"))
    """Bytes of bodies that each caller may send in a day; 0 without limit (trust S-9)."""
    open_namespaces: int = Field(default=256, ge=1, validation_alias=_own("open_namespaces"))
    """How many namespaces are kept warm."""
    oidc_issuer: str | None = Field(default=None, validation_alias=_own("oidc_issuer"))
    """The ``iss`` of JWTs."""
    oidc_audience: str | None = Field(default=None, validation_alias=_own("oidc_audience"))
    """The ``aud`` of JWTs."""
    oidc_jwks_url: str | None = Field(default=None, validation_alias=_own("oidc_jwks_url"))
    """Where the issuer's keys are: the only place they are fetched from."""
    oidc_hmac_key: SecretStr | None = Field(default=None, validation_alias=_own("oidc_hmac_key"))
    """A shared key in place of published ones, at least 32 bytes."""
    oidc_algorithms: CommaSeparated = Field(default=("RS256", "ES256"), validation_alias=_own("oidc_algorithms"))
    """Signatures that published keys may have."""
    oidc_max_lifetime_s: int = Field(default=86_400, ge=60, validation_alias=_own("oidc_max_lifetime_s"))
    """The longest life of a JWT."""
    oidc_scopes_claim: str = Field(default="scope", validation_alias=_own("oidc_scopes_claim"))
    """The claim that holds scopes: text separated by blanks, or a list."""
    oidc_namespaces_claim: str = Field(
        default="memory_ledger_namespaces", validation_alias=_own("oidc_namespaces_claim")
    )
    """The claim that holds a list of namespaces; ``*`` in it stands for all."""
    oidc_private_networks: bool = Field(default=False, validation_alias=_own("oidc_private_networks"))
    """Whether the keys may come from a private or loopback address (trust S-11)."""

    @property
    def longest_put_wait_s(self) -> float:
        """How long a PUT waits for its summary: so that the answer comes before the request's time is over."""
        return min(self.summarization_wait_seconds, self.request_timeout_s / 2)

    @field_validator("progressive_summarization_prompt")
    @classmethod
    def _has_its_places(cls, prompt: str | None) -> str | None:
        if prompt is not None and not all(place in prompt for place in ("{prev_summary}", "{messages_joined}")):
            raise PydanticCustomError("bad_prompt", "must hold {{prev_summary}} and {{messages_joined}}")
        return prompt

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, hosts: tuple[str, ...]) -> tuple[str, ...]:
        if not all(re.fullmatch(r"[A-Za-z0-9.:\[\]-]+", host) for host in hosts):
            raise PydanticCustomError("bad_host", "holds host names, separated by commas")
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
            raise PydanticCustomError("oidc", "MEMORY_LEDGER_OIDC_HMAC_KEY has fewer than 32 bytes")
        return self


def load_service_settings(**overrides: object) -> ServiceSettings:
    """Return the settings of this environment; *overrides* that are not none win.

    Raises:
        InvalidInput: ``bad_setting``, naming the variable.
    """
    return load(ServiceSettings, overrides, otherwise="auth_mode")


def check_address(settings: ServiceSettings) -> None:
    """Refuse to serve others without authentication (trust S-1, http W-74).

    Raises:
        InvalidInput: ``unsafe_address``.
    """
    if settings.auth_mode == "none" and settings.host.lower() not in LOOPBACK:
        raise InvalidInput(
            "unsafe_address",
            "without authentication only a loopback address is served; set AUTH_MODE to token or oidc",
            field="host",
        )
