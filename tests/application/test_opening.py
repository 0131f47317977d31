"""Opening and closing: arguments, the environment, databases that cannot be used. Source: trust P-2, I-61, N-3."""

import ast
import asyncio
import inspect
import textwrap
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ledger.application.open_ledger import open_ledger
from ledger.errors import DatabaseUnavailable, InvalidInput, LedgerError, MigrationNeeded, Unavailable, UnsafeRole
from ledger.memory import MemoryLedger
from ledger.settings import load_settings
from ledger.stores.in_memory import InMemoryStore
from ledger.stores.postgres import PostgresStore
from ledger.sync import SyncMemoryLedger
from tests.application.conftest import contents, talk
from tests.support.databases import Server

PASSWORD = "hunter2-and-more"


@pytest.fixture(scope="module")
def app_login(server: Server) -> Iterator[str]:
    with server.login("ledger_app") as name:
        yield name


@pytest.fixture
def url(server: Server, shared_database: str, app_login: str) -> str:
    return server.url_of(app_login, shared_database)


@pytest.mark.postgres
async def test_a_ledger_opens_on_the_database_it_is_given(url: str, namespace: str) -> None:
    async with MemoryLedger.open(url, namespace) as ledger:
        await talk(ledger, 1)
    async with MemoryLedger.open(database_url=url, namespace=namespace, group_commit=False) as ledger:
        await talk(ledger, 1, first=2)
        assert await contents(ledger) == ["message 1", "message 2"]


@pytest.mark.postgres
async def test_absent_arguments_come_from_the_environment(
    url: str, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in (("DATABASE_URL", url), ("NAMESPACE", namespace), ("ACTOR", "agent:env")):
        monkeypatch.setenv(f"MEMORY_LEDGER_{name}", value)
    async with MemoryLedger.open() as ledger:
        await talk(ledger, 1)
    async with MemoryLedger.open(actor="agent:own") as ledger:
        await talk(ledger, 1, first=2)
        assert [event.actor for event in await ledger.get_events("s")] == ["agent:env"] * 2 + ["agent:own"]
    async with MemoryLedger.open(namespace=f"{namespace}-own") as ledger:
        assert await ledger.list_sessions() == []


@pytest.mark.parametrize("name", ["COMPACTION_LEASE_S", "SUMMARIZER_TIMEOUT_S", "SUMMARIZER_MAX_RETRIES"])
async def test_a_bad_setting_is_named_and_not_repeated(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setenv(f"MEMORY_LEDGER_{name}", "-7777")
    with pytest.raises(InvalidInput) as refused:
        async with MemoryLedger.open(store=InMemoryStore()):
            pass
    assert (refused.value.code, refused.value.field) == ("bad_setting", f"MEMORY_LEDGER_{name}")
    assert "7777" not in str(refused.value)


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        ({"namespace": ""}, "bad_name"),
        ({"namespace": "a/b"}, "bad_name"),
        ({"namespace": "a" * 256}, "bad_name"),
        ({"namespace": 5}, "bad_setting"),
        ({"actor": "a\0"}, "bad_name"),
        ({"actor": True}, "bad_setting"),
        ({"config": [1]}, "bad_config"),
        ({"config": {"x": 1}}, "bad_config"),
        ({"summarizer": "gpt"}, "bad_summarizer"),
    ],
)
async def test_bad_arguments_open_nothing(arguments: dict[str, Any], code: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        async with MemoryLedger.open(store=InMemoryStore(), **arguments):
            pass
    assert refused.value.code == code


def test_an_explicit_folder_wins_over_a_variable_for_another_database(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MEMORY_LEDGER_DATABASE_URL", "postgresql://elsewhere/x")
    assert load_settings(data_dir="here").database_url is None
    assert load_settings(database_url="postgresql://there/x").database_url == "postgresql://there/x"
    assert load_settings().database_url == "postgresql://elsewhere/x", "the control: else the variable counts"


def test_a_folder_and_a_url_contradict_each_other() -> None:
    with pytest.raises(InvalidInput) as refused:
        SyncMemoryLedger.connect("postgresql://there/x", data_dir="here")
    assert (refused.value.code, refused.value.field) == ("bad_arguments", "database_url")


UNREACHABLE = {
    "nobody listens": f"postgresql://u:{PASSWORD}@127.0.0.1:1/x",
    "a port that is none": f"postgresql://u:{PASSWORD}@127.0.0.1:port/x",
    "no such host": f"postgresql://u:{PASSWORD}@nowhere.invalid/x",
    "no such socket": f"postgresql://u:{PASSWORD}@/x?host=/nowhere",
}
NO_URLS = {
    "another database": f"mysql://u:{PASSWORD}@127.0.0.1/x",
    "an unknown option": f"postgresql://u@127.0.0.1:1/x?pass={PASSWORD}",
    "words": f"my password is {PASSWORD}",
    "nothing": "",
    "as words": f"host=127.0.0.1 port=1 password={PASSWORD}",
}


@pytest.mark.parametrize("name", UNREACHABLE)
async def test_a_database_that_cannot_be_reached_is_unavailable__I_61(name: str) -> None:
    with pytest.raises(DatabaseUnavailable) as fault:
        async with MemoryLedger.open(UNREACHABLE[name]):
            pass
    assert fault.value.code == "database_unavailable"
    assert PASSWORD not in f"{fault.value} {fault.value!r}"


@pytest.mark.parametrize("name", NO_URLS)
async def test_what_is_no_database_url_is_refused__I_61(name: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        async with MemoryLedger.open(NO_URLS[name]):
            pass
    assert (refused.value.code, refused.value.field) == ("bad_setting", "database_url")
    assert PASSWORD not in f"{refused.value} {refused.value!r}"


@pytest.mark.postgres
async def test_a_database_without_our_schema_names_the_command_to_run(server: Server, app_login: str) -> None:
    with server.fresh(migrated=False) as empty:
        with pytest.raises(MigrationNeeded) as fault:
            async with MemoryLedger.open(server.url_of(app_login, empty)):
                pass
        assert "memory-ledger db upgrade" in str(fault.value)


@pytest.mark.postgres
async def test_a_login_that_could_rewrite_history_is_refused(server: Server, shared_database: str) -> None:
    """trust D-10."""
    with pytest.raises(UnsafeRole):
        async with MemoryLedger.open(server.database(shared_database)):
            pass


@pytest.mark.postgres
async def test_a_wrong_database_or_login_is_unavailable_and_the_password_is_not_shown(
    server: Server, shared_database: str, app_login: str
) -> None:
    for wrong in (
        server.url_of(app_login, "no_such_database"),
        server.url_of("no_such_login", shared_database),
    ):
        with pytest.raises(LedgerError) as fault:
            async with MemoryLedger.open(wrong):
                pass
        assert "secret" not in str(fault.value)


async def test_a_store_that_was_given_is_left_open(namespace: str) -> None:
    closed: list[bool] = []

    class Watched(InMemoryStore):
        async def close(self) -> None:
            closed.append(True)

    store = Watched()
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        await talk(ledger, 1)
    assert closed == []
    async with MemoryLedger.open(namespace=namespace, store=store) as ledger:
        assert await contents(ledger) == ["message 1"]


async def test_an_exception_of_the_body_is_raised(namespace: str) -> None:
    with pytest.raises(ZeroDivisionError):
        async with MemoryLedger.open(namespace=namespace, store=InMemoryStore()):
            raise ZeroDivisionError


@pytest.mark.postgres
async def test_a_closed_store_holds_no_connection(
    server: Server, shared_database: str, url: str, namespace: str
) -> None:
    marked = f"{url}{'&' if '?' in url else '?'}application_name={namespace[-8:]}"
    async with MemoryLedger.open(marked, namespace) as ledger:
        await asyncio.gather(*(ledger.add_user_message(f"s{number}", "hello") for number in range(20)))
        await ledger.list_sessions()
    with server.superuser(shared_database) as connection:
        for _ in range(100):
            row = connection.execute(
                "SELECT count(*) FROM pg_stat_activity WHERE datname = %s AND usename = %s",
                (shared_database, url.partition("//")[2].partition(":")[0]),
            ).fetchone()
            if row == (0,):
                return
            await asyncio.sleep(0.02)
    raise AssertionError(f"{row} connections are still open")


CLOSED = {
    "add": lambda ledger: ledger.add_user_message("s", "hello"),
    "read": lambda ledger: ledger.get_context("s"),
    "events": lambda ledger: ledger.get_events("s"),
    "list": lambda ledger: ledger.list_sessions(),
    "verify": lambda ledger: ledger.verify(),
    "export": lambda ledger: anext(ledger.export_file(None)),
    "import": lambda ledger: ledger.import_file(lambda: [b"{}"]),
    "import conversations": lambda ledger: ledger.import_conversations([]),
}


@pytest.mark.parametrize("name", CLOSED)
async def test_a_closed_ledger_does_nothing_more(anywhere: MemoryLedger, name: str) -> None:
    """Not even open connections again."""
    await talk(anywhere, 1)
    await anywhere.close()
    with pytest.raises(Unavailable) as refused:
        await CLOSED[name](anywhere)
    assert "closed" in str(refused.value)


def test_the_public_names_are_what_the_page_imports() -> None:
    import ledger  # noqa: PLC0415 - its names are what is tested

    assert {name: getattr(ledger, name) for name in ("MemoryLedger", "SyncMemoryLedger", "InMemoryStore")} == {
        "MemoryLedger": MemoryLedger,
        "SyncMemoryLedger": SyncMemoryLedger,
        "InMemoryStore": InMemoryStore,
    }
    assert all(hasattr(ledger, name) for name in ledger.__all__)
    assert PostgresStore.__name__ not in ledger.__all__


@pytest.mark.parametrize(
    "wrong",
    [
        {"store": 5},
        {"store": InMemoryStore},
        {"embedder": "text-embedding-3-small"},
        {"group_commit": "no"},
        {"allow_unsafe": 1},
        {"namespace": 5},
        {"actor": 5},
        {"data_dir": 5},
        {"database_url": 5},
        {"config": 5},
        {"summarizer": 5},
    ],
    ids="-".join,
)
async def test_an_argument_of_the_wrong_type_is_named(wrong: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput) as refused:
        async with MemoryLedger.open(**{"store": InMemoryStore(), **wrong}):
            pass
    assert str(refused.value).startswith(f"{next(iter(wrong))}: must be ")


def arguments(function: Callable[..., object]) -> str:
    """Return the arguments of *function* after the first, as the source has them."""
    (node,) = ast.parse(textwrap.dedent(inspect.getsource(inspect.unwrap(function)))).body
    assert isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    del node.args.args[0]
    return ast.unparse(node.args)


def test_what_opens_the_ledger_takes_the_arguments_of_the_facade() -> None:
    def broken(facade: object, database_url: str | None = None, namespace: str | None = None) -> None: ...

    shown = arguments(MemoryLedger.open)
    assert arguments(open_ledger) == arguments(MemoryLedger.connect) == shown
    assert shown.startswith(arguments(broken))
    assert arguments(broken) != shown
