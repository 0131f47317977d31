"""``make test-ams``: fetch the source release of the clients, run their own tests, and call a service with JavaScript.

Every method of the Python client is called by the tests in ``tests/server/compat``, as it is installed with them. This
needs npm for the JavaScript client, and the package registries that pip and npm are set up with. Nothing that is
fetched is stored in the repository: it lies in ``.ams``.
"""

import os
import shutil
import socket
import subprocess
import sys
import tarfile
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.request import urlopen

HERE = Path(__file__).parent
ROOT = HERE.parents[1]
FETCHED = ROOT / ".ams"
RELEASE = FETCHED / "agent_memory_client-0.14.0"
JAVASCRIPT = RELEASE / "agent-memory-client-js"
VITEST = ["npx", "--no-install", "vitest", "run"]
START_S = 60


def main() -> int:
    """Return 0 if every test passed."""
    fetch()
    failed = [name for name, command, folder in suites() if run(name, command, folder)]
    with served() as url:
        called = "every method of the JavaScript client, against a service"
        command = [*VITEST, "src/every_method.test.ts"]
        failed += [called] if run(called, command, JAVASCRIPT, os.environ | {"MEMORY_LEDGER_URL": url}) else []
    print(f"failed: {', '.join(failed)}" if failed else "all passed")
    return bool(failed)


def fetch() -> None:
    """Bring the source release of the clients here, as its hash says, and what the JavaScript client needs."""
    FETCHED.mkdir(exist_ok=True)
    if not RELEASE.exists():
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--no-deps", "--no-binary", ":all:"]
        only = ["--require-hashes", "-r", str(HERE / "requirements.txt"), "--dest", str(FETCHED)]
        subprocess.run([*pip, *only], check=True)
        with tarfile.open(next(FETCHED.glob("*.tar.gz"))) as release:
            release.extractall(FETCHED, filter="data")
    if not (JAVASCRIPT / "node_modules").exists():
        subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=JAVASCRIPT, check=True)
    shutil.copy(HERE / "every_method.test.ts", JAVASCRIPT / "src")


def suites() -> Iterator[tuple[str, list[str], Path]]:
    """Yield the clients' own tests, which need no server."""
    left_out = [
        line.split()[0] for line in (HERE / "deselected.txt").read_text().splitlines() if line and line[0] != "#"
    ]
    deselect = [part for test in left_out for part in ("--deselect", test)]
    pytest = [sys.executable, "-m", "pytest", "-q", "--noconftest", "-p", "no:cacheprovider", "-o", "asyncio_mode=auto"]
    yield "tests of the Python client", [*pytest, *deselect, "-c", os.devnull, "--rootdir", ".", "tests"], RELEASE
    yield "tests of the JavaScript client", [*VITEST, "--exclude", "**/every_method.test.ts"], JAVASCRIPT


def run(name: str, command: list[str], folder: Path, environment: dict[str, str] | None = None) -> bool:
    """Return whether *command* failed."""
    print(f"== {name}", flush=True)
    return subprocess.run(command, cwd=folder, env=environment, check=False).returncode != 0


@contextmanager
def served() -> Iterator[str]:
    """Yield the URL of a service over a new embedded database, without a model."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    data = tempfile.mkdtemp(prefix="data-", dir=FETCHED)
    settings = {
        "MEMORY_LEDGER_DATA_DIR": data,
        "MEMORY_LEDGER_DATABASE_URL": "",
        "MEMORY_LEDGER_EMBEDDED_IDLE_S": "60",  # seconds after the service, its database stops too
    }
    serve = [sys.executable, "-c", "from ledger.cli import main; main()", "serve", "--port", str(port)]
    with (FETCHED / "serve.log").open("w") as log:
        process = subprocess.Popen(serve, cwd=ROOT, env=os.environ | settings, stdout=log, stderr=log)
    try:
        for _ in range(START_S * 10):
            try:
                with urlopen(f"http://127.0.0.1:{port}/healthz"):
                    break
            except OSError:
                if process.poll() is not None:
                    raise SystemExit(f"the service did not start; {FETCHED / 'serve.log'} says why") from None
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(30)


if __name__ == "__main__":
    sys.exit(main())
