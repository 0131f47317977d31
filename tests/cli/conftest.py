"""The command run in this process, as a plain login of the application role; and in a process of its own."""

import json
import os
import secrets
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest
import typer
from typer.testing import CliRunner

from ledger.cli.app import app
from tests.support.databases import Server
from tests.support.importer_samples import SAMPLES

WHOLE: Any = typer.main.get_command(app)
FIRST = "5d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10"
SECOND = "6d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10"
COMMAND = Path(sys.executable).with_name("memory-ledger")


class Ran(NamedTuple):
    """What a command left: its exit code and what it printed."""

    code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines(self) -> list[str]:
        return self.out.splitlines()


class Cli:
    """Runs commands against one namespace of one database."""

    def __init__(self, url: str, namespace: str) -> None:
        self.url = url
        self.namespace = namespace

    @property
    def where(self) -> list[str]:
        return ["--database-url", self.url, "--namespace", self.namespace]

    def try_(self, *arguments: str, input: str | bytes | None = None, where: Sequence[str] | None = None) -> Ran:
        """Run a command and return what it left, whatever that is."""
        whole = [*(self.where if where is None else where), *arguments]
        with CliRunner(env={"COLUMNS": "200", "NO_COLOR": "1"}).isolation(input) as (out, err, _):
            with pytest.raises(SystemExit) as ended:
                WHOLE.main(whole, prog_name="memory-ledger")
            sys.stdout.flush()
            sys.stderr.flush()
            return Ran(int(ended.value.code or 0), out.getvalue().decode(), err.getvalue().decode())

    def __call__(self, *arguments: str, input: str | bytes | None = None) -> Ran:
        """Run a command that has to succeed, and to be silent about it on standard error."""
        ran = self.try_(*arguments, input=input)
        assert (ran.code, ran.err) == (0, ""), ran
        return ran

    def json(self, *arguments: str, input: str | bytes | None = None) -> Any:
        """Run a command that has to succeed, and return its JSON."""
        return self(*arguments, "--json", input=input).json

    def elsewhere(self, namespace: str) -> "Cli":
        return Cli(self.url, namespace)

    @contextmanager
    def process(self, *arguments: str, **options: Any) -> Iterator[subprocess.Popen[str]]:
        """Start the command as a shell does, one that Ctrl-C reaches even if these tests run in the background.

        It ends with the block at the latest: the process of a test that fails would wait for ever, and be a fault of
        some later test.
        """
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)
        streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL}
        with subprocess.Popen([COMMAND, *self.where, *arguments], text=True, **{**streams, **options}) as process:
            try:
                yield process
            except BaseException:
                process.kill()
                raise


@pytest.fixture(scope="session")
def app_login(server: Server) -> Iterator[str]:
    """A login that may read and append, and nothing more."""
    with server.login("ledger_app") as login:
        yield login


@pytest.fixture(scope="session")
def app_url(server: Server, shared_database: str, app_login: str) -> str:
    """The shared database, entered by that login."""
    return server.url_of(app_login, shared_database)


@pytest.fixture
def cli(app_url: str) -> Cli:
    """The command on a namespace of this test's own."""
    return Cli(app_url, f"cli-{secrets.token_hex(6)}")


@pytest.fixture
def talked(cli: Cli) -> Cli:
    """A session "s" at version 3."""
    cli("add", "s", "hello")
    cli("add", "s", "hi", "--role", "assistant")
    return cli


@pytest.fixture
def file(tmp_path: Path) -> Callable[..., str]:
    """Write content, JSON unless it is text or bytes, to a file and return its name."""

    def write(content: Any, name: str = "file.json") -> str:
        path = tmp_path / name
        data = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(data if isinstance(data, bytes) else data.encode())
        return str(path)

    return write


@pytest.fixture
def projects(tmp_path: Path) -> Path:
    """Two projects of a coding agent; one also has chats whose files have no ids, by the same name."""
    folder = tmp_path / "projects"
    for project in ("-home-mara-garden", "-home-mara-shed"):
        (folder / project).mkdir(parents=True)
        shutil.copy(SAMPLES / "openai_list.json", folder / project / "chat.json")
    shutil.copy(SAMPLES / "claude_agents.jsonl", folder / "-home-mara-garden" / f"{FIRST}.jsonl")
    branched = (SAMPLES / "claude_branched.jsonl").read_text().replace(FIRST, SECOND)
    (folder / "-home-mara-shed" / f"{SECOND}.jsonl").write_text(branched)
    (folder / "settings.json").write_text('{"theme": "dark"}')
    (folder / "notes.md").write_text("# not read")
    return folder


@pytest.fixture(autouse=True)
def _here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Commands run in an empty folder."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MEMORY_LEDGER_DATA_DIR", os.devnull)  # so that no test starts a server by mistake
