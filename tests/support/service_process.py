"""The service in a process of its own."""

import os
import socket
import subprocess
import sys
import time
from pathlib import Path

import httpx

from tests.support import http_client


class ServiceProcess:
    """``memory-ledger serve`` in its own process."""

    def __init__(self, folder: Path, url: str, *options: str, **environment: str) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        known = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_LEDGER_")}
        self.errors = folder / "errors"
        self.output = folder / "output"
        command = [sys.executable, "-c", "from ledger.cli import main; main()", "serve", "--port", str(self.port)]
        with self.output.open("wb") as output, self.errors.open("wb") as errors:
            self.process = subprocess.Popen(
                [*command, *options],
                env={**known, "MEMORY_LEDGER_DATABASE_URL": url, **environment},
                stdout=output,
                stderr=errors,
            )
        self.url = f"http://127.0.0.1:{self.port}"

    def wait_until_it_serves(self) -> None:
        """Return when the service answers; fail if its process ends before."""
        for _ in range(600):
            try:
                http_client.get(f"{self.url}/v1/health")
            except httpx.TransportError:
                assert self.process.poll() is None, self.errors.read_text()
                time.sleep(0.1)
            else:
                return
        raise AssertionError("it does not serve")
