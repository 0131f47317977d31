"""The composed service, by the command line of an engine."""

import json
import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
STAND_INS = {
    "POSTGRES_IMAGE": "memory-ledger-stand-in/pgvector:pg15",
    "PYTHON_IMAGE": "memory-ledger-stand-in/python:3.11-slim-bookworm",
}


def compose_command() -> list[str]:
    """Return the command of docker compose, new or old; without an engine, skip and say so."""
    docker = shutil.which("docker")
    if docker is None or not _works([docker, "info"]):
        pytest.skip("no Docker engine answers here, so nothing was composed")
    if _works([docker, "compose", "version"]):
        return [docker, "compose"]
    if shutil.which("docker-compose"):
        return ["docker-compose"]
    pytest.skip("this Docker engine has no compose, so nothing was composed")


def docker(*arguments: str) -> str:
    """Run docker and return its output."""
    return _run(["docker", *arguments])


class Composed:
    """One project of docker-compose.yml, with secrets and a port of its own."""

    def __init__(self, command: list[str], environment: Path) -> None:
        self._start = [*command, "--project-name", f"ledger{secrets.token_hex(4)}", "--env-file", str(environment)]
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        settings = {
            "SECRETS": str(environment.parent),
            "API_PORT": str(port),
            "SERVICE_IMAGE": "memory-ledger:test",
            **{name: image for name, image in STAND_INS.items() if _works(["docker", "image", "inspect", image])},
            **{name: os.environ[name] for name in (*STAND_INS, "PIP_INDEX_URL") if name in os.environ},
        }
        for name in ("owner_password", "service_password"):
            (environment.parent / name).write_text(f"{secrets.token_hex(16)}\n")
        environment.write_text("".join(f"{name}={value}\n" for name, value in settings.items()))
        self.url = f"http://127.0.0.1:{port}"

    def __call__(self, *arguments: str) -> str:
        """Run a command of compose and return its output."""
        return _run([*self._start, *arguments])

    def begin(self) -> None:
        """Begin an empty ledger, as the page says to do once."""
        self("run", "--rm", "-T", "migrate", "memory-ledger", "db", "upgrade")

    def up(self) -> None:
        """Start everything and wait until the service is healthy."""
        self("up", "--detach")
        for _ in range(240):
            if self.inspected("api")["State"]["Health"]["Status"] == "healthy":
                return
            time.sleep(0.5)
        raise AssertionError(self("logs", "--tail", "20"))

    def inspected(self, service: str) -> Any:
        """Return the engine's description of a service's container."""
        container = self("ps", "--quiet", service).split()[0]
        return json.loads(docker("inspect", container))[0]

    def inside(self, service: str, *command: str) -> subprocess.CompletedProcess[str]:
        """Run a command in a service's container."""
        whole = ["docker", "exec", self.inspected(service)["Id"], *command]
        return subprocess.run(whole, capture_output=True, text=True, check=False, timeout=60)


@contextmanager
def composed(environment: Path) -> Iterator[Composed]:
    """Yield a project with built images, and remove all of it at the end."""
    project = Composed(compose_command(), environment)
    project("build", "migrate")  # the other services run the same image
    try:
        yield project
    finally:
        project("down", "--volumes", "--remove-orphans")


def _works(command: list[str]) -> bool:
    return subprocess.run(command, capture_output=True, check=False, timeout=60).returncode == 0


def _run(command: list[str]) -> str:
    ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=1500)
    assert ran.returncode == 0, f"{command[0]} {ran.stdout[-2000:]} {ran.stderr[-4000:]}"
    return ran.stdout
