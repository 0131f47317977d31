"""Settings from the environment; the variable of a field is ``MEMORY_LEDGER_`` and its name.

They are read once, but for the secrets: a password or key may change while a process lives.
"""

import asyncio
import inspect
import os
from collections.abc import Awaitable, Callable, Mapping
from pathlib import Path
from typing import Final, TypeAlias, TypeVar, get_args
from urllib.parse import quote

from pydantic import Field, SecretStr, ValidationError, field_validator
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict, SettingsError

from ledger.errors import InvalidInput
from ledger.events.field_messages import refused_value
from ledger.events.names import DEFAULT_NAMESPACE
from projections.words.languages import SearchLanguage
from projections.words.ranking import Ranking

_KEY_CHARACTERS: Final = 32
_NO_SEARCH_PATH: Final = (
    "must not set search_path: the ledger's tables are always in the schema `ledger`, so two tenants would share them; "
    "give each tenant a namespace of its own (`namespace=`, MEMORY_LEDGER_NAMESPACE), or a database"
)


class Settings(BaseSettings):
    """Settings from the environment; arguments and command line options override them."""

    model_config = SettingsConfigDict(env_prefix="MEMORY_LEDGER_", env_ignore_empty=True, frozen=True, extra="ignore")

    database_url: str | None = Field(default=None, repr=False)  # it may hold a password
    """The URL of a PostgreSQL server; without it, the embedded server is used."""
    database_password: SecretStr | None = None
    """The password of the URL, if it has none."""
    database_timeout_s: float = Field(default=20.0, ge=0.5, le=3600)
    """After how many seconds without an answer of the database a call fails."""
    database_connections: int = Field(default=8, ge=1, le=100)
    """How many connections to the database a process has at most; with fewer it works more slowly."""
    login_password: SecretStr | None = None
    """The password that ``db login`` sets."""
    data_dir: Path | None = None
    """The folder of the embedded server's files."""
    key: SecretStr | None = None
    """Proves to a process that another one wrote a snapshot; at least 32 characters, the same for all processes."""
    embedded_idle_s: float = Field(default=900.0, ge=0)
    """After how many seconds without use the embedded server stops; 0 keeps it running."""
    namespace: str = DEFAULT_NAMESPACE
    """Isolates and orders sessions."""
    actor: str = ""
    """The actor that is recorded with each event."""
    summarizer_base_url: str | None = None
    """The URL of an OpenAI-compatible endpoint for summaries."""
    summarizer_model: str | None = None
    """The model that writes summaries; without it, sentences of the conversation are quoted."""
    summarizer_api_key: SecretStr | None = None
    """The key of the endpoint; without it, OPENAI_API_KEY is used."""
    summarizer_timeout_s: float = Field(default=60.0, gt=0, le=600)
    """The deadline of one model call, with its retries, in seconds."""
    summarizer_max_retries: int = Field(default=2, ge=0, le=10)
    """How often a call is tried again after a temporary failure."""
    search_language: SearchLanguage = "auto"
    """Compare words by stems, in the language of each text (``auto``) or in this one; ``simple``: as they are."""
    search_ranking: Ranking | None = None
    """The weights of a search, as a JSON object of those that differ from the defaults."""
    embedder_model: str | None = None
    """The model that turns texts into vectors: ``local``, ``local:FOLDER``, or the name of one behind an endpoint."""
    embedder_base_url: str | None = None
    """The URL of its OpenAI-compatible endpoint; the key is OPENAI_API_KEY."""
    compaction_lease_s: float = Field(default=600.0, gt=0)
    """After how many seconds a compaction without outcome counts as abandoned."""
    prices: Path | None = None
    """A file of model prices that replaces the built-in ones."""

    @field_validator("data_dir", mode="before")
    @classmethod
    def _is_a_folder(cls, folder: object) -> object:
        if folder == "":  # as a path this would be the current folder
            raise PydanticCustomError("empty", "must not be empty")
        return folder

    @field_validator("key")
    @classmethod
    def _is_long(cls, key: SecretStr | None) -> SecretStr | None:
        if key is not None and len(key.get_secret_value()) < _KEY_CHARACTERS:
            raise PydanticCustomError("short_key", f"must have at least {_KEY_CHARACTERS} characters")
        return key

    @field_validator("database_url")
    @classmethod
    def _is_a_url(cls, url: str | None) -> str | None:
        if url is not None:
            from psycopg import Error, conninfo  # noqa: PLC0415 - a ledger in memory needs no driver

            fault = PydanticCustomError("bad_url", "must be a URL such as postgresql://user:password@host/database")
            if not url.startswith(("postgresql://", "postgres://")):
                raise fault
            try:
                options = f"{conninfo.conninfo_to_dict(url).get('options')} {os.environ.get('PGOPTIONS')}"
            except Error:
                raise fault from None  # the driver's message would repeat the URL
            if "search_path" in options.lower():
                raise PydanticCustomError("search_path", _NO_SEARCH_PATH)
        return url


S = TypeVar("S", bound=BaseSettings)
#: A secret, or a function that returns the one that is valid now, such as a token of 15 minutes.
Secret: TypeAlias = str | Callable[[], str | Awaitable[str]]
#: The end of a variable that names a file with the value, so that a secret need not be in the environment.
FILE: Final = "_FILE"
#: The variable with the key of OpenAI-compatible endpoints that have none of their own.
OPENAI_KEY: Final = "OPENAI_API_KEY"


def load_settings(**overrides: object) -> Settings:
    """Return the settings of this environment; *overrides* that are not None win.

    A ``data_dir`` among them means the embedded server there, whatever database the environment names.

    Raises:
        InvalidInput: ``bad_setting``, with the name of the argument or the variable; ``bad_arguments``: a
            ``database_url`` is among them, too.
    """
    settings = load(Settings, overrides)
    if overrides.get("data_dir") is not None:
        if overrides.get("database_url") is not None:
            message = "must not be given: data_dir names another database"
            raise InvalidInput("bad_arguments", message, field="database_url")
        return settings.model_copy(update={"database_url": None})
    if settings.database_url is None or settings.database_password is None:
        return settings
    url = _with_password(settings.database_url, settings.database_password.get_secret_value())
    return settings.model_copy(update={"database_url": url})


def _with_password(url: str, password: str) -> str:
    """Return *url* with *password*, unless it has one of its own."""
    if has_password(url):
        return url
    return f"{url}{'&' if '?' in url else '?'}password={quote(password, safe='')}"


def secret_now(variable: str) -> str | None:
    """Return what *variable* of the environment is now, or the file that ``VARIABLE_FILE`` names; None without either.

    Raises:
        InvalidInput: ``bad_setting``: both are set, or the file cannot be read.
    """
    value, path = os.environ.get(variable), os.environ.get(f"{variable}{FILE}")
    if not path:
        return value or None
    if value:
        raise InvalidInput("bad_setting", f"must not be set beside {variable}", field=f"{variable}{FILE}")
    try:
        return Path(path).read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidInput("bad_setting", "must be a file that can be read", field=f"{variable}{FILE}") from None


async def value_now(secret: Secret) -> str:
    """Return what *secret* is now; a function that is not asynchronous may block, so it is called in a thread."""
    if isinstance(secret, str):
        return secret
    value = await asyncio.to_thread(secret)
    return await value if inspect.isawaitable(value) else value


def login_now(settings: Settings) -> Callable[[], dict[str, str]] | None:
    """Return a function that reads the login of the database again; None if neither environment nor file has it.

    Its values are ``user`` and ``password``. A URL that meanwhile names another database is passed over.

    Raises:
        InvalidInput: (the function) a variable or file is wrong now.
    """
    opened = settings.database_url
    if opened is None:
        return None
    newest = load_settings()
    if newest.database_url == opened:
        return lambda: _login_in(opened, load_settings().database_url)
    password = settings.database_password
    if password is None or _parts(opened).get("password") != password.get_secret_value():
        return None

    def read() -> dict[str, str]:
        found = load_settings().database_password
        return {} if found is None else {"password": found.get_secret_value()}

    return read


def has_password(url: str) -> bool:
    """Return whether *url* has a password of its own."""
    return "password" in _parts(url)


def _login_in(opened: str, now: str | None) -> dict[str, str]:
    parts, others = _parts(now or ""), _parts(opened)
    if any(parts.get(name) != others.get(name) for name in ("host", "hostaddr", "port", "dbname", "service")):
        return {}
    return {name: parts[name] for name in ("user", "password") if name in parts}


def _parts(url: str) -> dict[str, str]:
    from psycopg import conninfo  # noqa: PLC0415 - a ledger in memory needs no driver

    return {name: str(value) for name, value in conninfo.conninfo_to_dict(url).items()}


def load(kind: type[S], overrides: Mapping[str, object], *, otherwise: str = "") -> S:
    """Return settings of a *kind* from this environment; *overrides* that are not None win.

    Raises:
        InvalidInput: ``bad_setting``, with the name of the argument or the variable, or *otherwise* if several
            contradict each other.
    """
    fields = kind.model_fields
    given = {
        **_secrets_in_files(kind),
        **{str(fields[name].validation_alias or name): value for name, value in overrides.items() if value is not None},
    }
    try:
        return kind(**given)  # type: ignore[arg-type]  # pydantic checks them
    except SettingsError as unreadable:  # it names the field
        name = str(unreadable).partition('"')[2].partition('"')[0]
        variable = f"{kind.model_config.get('env_prefix', '')}{name}".upper()
        raise InvalidInput("bad_setting", "must be a JSON object", field=variable) from None
    except ValidationError as refused:
        fault = refused.errors(include_url=False, include_input=False)[0]
        name = "_".join(str(part) for part in fault["loc"]) or otherwise
        variable = f"{kind.model_config.get('env_prefix', '')}{name}".upper()
        raise InvalidInput("bad_setting", refused_value(fault), field=name if name in given else variable) from None


def secrets_of(kind: type[BaseSettings]) -> dict[str, str]:
    """Return the variables of a *kind* of settings that hold a secret, and under which name the kind takes each."""
    prefix = str(kind.model_config.get("env_prefix", ""))
    return {
        str(field.validation_alias or f"{prefix}{name}").upper(): str(field.validation_alias or name)
        for name, field in kind.model_fields.items()
        if not field.repr or SecretStr in get_args(field.annotation)
    }


def _secrets_in_files(kind: type[BaseSettings]) -> dict[str, str]:
    found: dict[str, str] = {}
    for variable, name in secrets_of(kind).items():
        if os.environ.get(f"{variable}{FILE}"):
            found[name] = secret_now(variable) or ""
    return found
