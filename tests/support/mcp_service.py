"""The command ``memory-ledger mcp --http``, as a process of its own."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager

from tests.support.command_process import COMMAND, environment


@contextmanager
def mcp_service(database_url: str, namespace: str, *more: str, **settings: str) -> Iterator[str]:
    """Yield the URL of a service on a free port."""
    where = ["--database-url", database_url, "--namespace", namespace]
    command = [str(COMMAND), "mcp", "--http", "0", *where, *more]
    with subprocess.Popen(
        command, env=environment(**settings), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    ) as process:
        assert process.stdout is not None
        printed = ""
        try:
            while "listening on " not in printed:
                line = process.stdout.readline()
                assert line, printed
                printed += line
            yield printed.rpartition("listening on ")[2].strip()
        finally:
            process.terminate()
            process.communicate(timeout=60)
