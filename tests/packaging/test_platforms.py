"""Only the embedded server needs a POSIX system: all else loads and works where there is no fork and no user id."""

import subprocess
import sys

import pytest

pytestmark = [pytest.mark.full, pytest.mark.processes]

PROGRAM = """
import os, signal, sys
import asyncio, anyio, fasteners, multiprocessing, platformdirs, psutil, subprocess, tempfile, tiktoken, uvicorn
sys.modules["pwd"] = None
for name in ("fork", "forkpty", "register_at_fork", "geteuid", "getuid", "getegid", "chown", "mkfifo"):
    if hasattr(os, name):
        delattr(os, name)
del signal.SIGKILL
import pkgutil
from importlib import import_module
import ledger, projections
from ledger import InMemoryStore, SyncMemoryLedger
for package in (ledger, projections):
    for module in pkgutil.walk_packages(package.__path__, package.__name__ + "."):
        # it runs as a program; its SDK is not here
        if module.name not in ("ledger.stores.embedded.idle_stop", "ledger.adapters.google_adk.session_service"):
            import_module(module.name)
with SyncMemoryLedger.open(store=InMemoryStore()) as opened:
    opened.add_user_message("s", "hello")
    assert opened.get_stats("s").active_tokens == 1
from ledger.stores.factory import ready_url
from ledger.settings import load_settings
assert ready_url(load_settings(database_url="postgresql://you@db.example/agents")).startswith("postgresql://")
print("all of it")
"""


def test_everything_but_the_embedded_server_works_without_fork_and_users() -> None:
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (0, "all of it\n"), done.stderr
