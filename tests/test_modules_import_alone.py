"""Every module of `ledger` and `projections` imports first, in an interpreter that has none of them yet.

The two packages import each other, as modules they do not (style "Layers"); no linter sees whether the
order in which they are imported matters.
"""

import os
import pkgutil
import random
import subprocess
import sys
from functools import cache

import pytest

import ledger
import projections

if not hasattr(os, "fork"):
    pytest.skip("needs os.fork", allow_module_level=True)

#: Needs an SDK that is not beside the tests; `make test-adapters` imports it.
APART = "ledger.adapters.google_adk.session_service"


@cache
def modules() -> list[str]:
    """Return the names of all modules; looking for them imports the packages, and so the SDKs."""
    return [
        package.__name__ if module is None else module.name
        for package in (ledger, projections)
        for module in (None, *pkgutil.walk_packages(package.__path__, f"{package.__name__}."))
        if module is None or module.name != APART
    ]


#: Loads the libraries, none of ours, then forks: each child is an interpreter that imports one of our modules.
SCRIPT = """
import importlib, os, sys, traceback

def alone(name):
    child = os.fork()
    if not child:
        try:
            importlib.import_module(name)
        except BaseException:
            traceback.print_exc()
            os._exit(1)
        os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0

libraries, modules = (text.split(",") for text in sys.argv[1:])
for library in libraries:
    importlib.import_module(library)
assert not {"ledger", "projections"} & sys.modules.keys()
print(",".join(name for name in modules if not alone(name)))
"""
LIBRARIES = (
    "msgspec,pydantic,pydantic_settings,sqlalchemy.ext.asyncio,psycopg,alembic.config,tiktoken,typer,rich.table,"
    "fastapi,uvicorn.protocols.http.httptools_impl,httpcore,jwt,prometheus_client"
)


def failing(*names: str, path: str = "", libraries: str = LIBRARIES) -> tuple[str, str]:
    """Return those of *names* that do not import alone, and what they said."""
    environment = {**os.environ, "PYTHONPATH": path}
    run = [sys.executable, "-c", SCRIPT, libraries, ",".join(names)]
    done = subprocess.run(run, capture_output=True, text=True, env=environment, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip(), done.stderr


@pytest.mark.full
@pytest.mark.processes
def test_the_packages_and_some_of_their_modules_import_alone(seed: int) -> None:
    names, texts = failing("ledger", "projections", *random.Random(seed).sample(modules(), 8))
    assert not names, texts


@pytest.mark.slow
def test_every_module_imports_alone() -> None:
    names, texts = failing(*modules())
    assert not names, texts


@pytest.mark.full
def test_the_list_of_modules_is_complete() -> None:
    assert {
        "ledger",
        "ledger.session",
        "ledger.application.writing.entry_writes",
        "projections",
        "projections.strategies.full",
    } <= {*modules()}
    assert len(modules()) > 70


def test_a_cycle_that_depends_on_the_order_is_noticed(tmp_path) -> None:
    """Negative control: of two modules that need each other, one cannot be imported first."""
    (tmp_path / "one.py").write_text("import other\nvalue = other.value\n")
    (tmp_path / "other.py").write_text("import one\nvalue = 1 if hasattr(one, 'value') else one.value\n")
    (tmp_path / "third.py").write_text("value = 1\n")
    names, texts = failing("one", "third", path=str(tmp_path), libraries="json")
    assert names == "one"
    assert "partially initialized module 'one'" in texts
