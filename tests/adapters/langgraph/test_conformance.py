"""The conformance suite of LangGraph, as its sdist has it. Source: adapters LG-14, AD-15."""

import subprocess
import sys
from collections.abc import AsyncIterator
from importlib import import_module, invalidate_caches
from typing import Any

import pytest

from ledger.adapters.langgraph import LedgerSaver
from ledger.stores.in_memory import InMemoryStore
from tests.support.sdists import unpack

_SUITE = "langgraph-checkpoint-conformance==0.0.2"


@pytest.fixture(scope="session")
def suite(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """The suite's package, from exactly the pinned release; without a package index the tests are skipped."""
    folder = tmp_path_factory.mktemp("conformance")
    command = [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "--no-build-isolation"]
    done = subprocess.run(
        [*command, "--no-binary", ":all:", "-d", str(folder), _SUITE], check=False, capture_output=True, text=True
    )
    archives = list(folder.glob("*.tar.gz"))
    if not archives:
        pytest.skip(f"the package index does not give {_SUITE}: {done.stderr[-200:]}")
    unpack(archives[0], folder)
    (source,) = folder.glob("*/langgraph/checkpoint")
    sys.path.append(str(source.parents[1]))  # a part of two namespace packages
    invalidate_caches()
    return import_module("langgraph.checkpoint.conformance")


async def failures(suite: Any, **opening: Any) -> tuple[list[str], int]:
    @suite.checkpointer_test(name="ledger")  # type: ignore[untyped-decorator]
    async def savers() -> AsyncIterator[LedgerSaver]:
        async with LedgerSaver.open(**opening) as saver:
            yield saver

    report = await suite.validate(savers)
    results = report.results.values()
    return [each for result in results for each in result.failures], sum(each.tests_passed for each in results)


async def test_the_suite_passes_in_memory__LG_14(suite: Any) -> None:
    assert await failures(suite, store=InMemoryStore()) == ([], 81)


@pytest.mark.postgres
async def test_the_suite_passes_on_postgres__LG_14(suite: Any, url: str, namespace: str) -> None:
    assert await failures(suite, database_url=url, namespace=namespace) == ([], 81)


async def test_a_saver_that_forgets_writes_is_rejected__LG_14(suite: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""

    async def forget(*args: object, **options: object) -> None:
        return None

    monkeypatch.setattr(LedgerSaver, "aput_writes", forget)
    failed, _ = await failures(suite, store=InMemoryStore())
    assert any("put_writes" in each for each in failed)
