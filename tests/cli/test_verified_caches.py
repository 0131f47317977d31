"""When ``verify`` compares what is stored beside the log. Source: trust K-4."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace
from typing import Any

import pytest
from typer.testing import CliRunner

from ledger.cli import command_table, verify  # noqa: F401 - registers them
from ledger.cli.app import app
from ledger.verification import VerifyReport

OWN_SERVER = "postgresql://nowhere/agents"


@pytest.mark.parametrize(
    ("server", "options", "compared"),
    [
        (None, [], True),
        (None, ["--no-caches"], False),
        (OWN_SERVER, [], False),
        (OWN_SERVER, ["--caches"], True),
        (None, ["one"], True),
    ],
)
def test_the_embedded_server_is_compared_by_default(
    monkeypatch: pytest.MonkeyPatch, server: str | None, options: list[str], compared: bool
) -> None:
    asked: list[bool] = []

    async def answer(*_: object, caches: bool, **__: object) -> VerifyReport:
        asked.append(caches)
        return VerifyReport(verdict="EMPTY", checked=0)

    @asynccontextmanager
    async def opened(_: Any) -> AsyncIterator[Any]:
        yield SimpleNamespace(verify=answer)

    monkeypatch.setattr(verify, "opened", opened)
    where = ["--database-url", server] if server else []
    done = CliRunner().invoke(app, [*where, "verify", *options])
    assert (done.exit_code, asked) == (0, [compared]), done.output
