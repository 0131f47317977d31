"""The commands ``db start``, ``stop``, ``status``, ``upgrade``, ``login``, ``restore``, ``index`` and ``prune``."""

from typing import Annotated

import typer
from rich.text import Text

from ledger.cli.app import Options, command, db, options, run
from ledger.cli.file_source import lines, spooled
from ledger.cli.output import counted, safe
from ledger.cli.table_layout import records
from ledger.errors import InvalidInput
from ledger.events.ids import namespace_id
from ledger.events.names import check_name
from ledger.stores.embedded.server import EmbeddedServer
from ledger.stores.factory import open_store, prepare, ready_url
from ledger.stores.postgres import PostgresStore


def _server(opts: Options) -> EmbeddedServer:
    settings = opts.settings
    if settings.database_url is not None:
        message = "must not be given: this command is for the embedded server only"
        raise InvalidInput("not_embedded", message, field="--database-url")
    return EmbeddedServer(settings.data_dir)


@command(db)
def start() -> None:
    """Start the embedded server, and create its database if there is none."""
    opts = options()
    server = _server(opts)
    prepare(server, idle_s=opts.settings.embedded_idle_s)
    status = server.status()
    opts.output.result(status, lambda: opts.output.say(f"running: {status.url}"))


@command(db)
def stop() -> None:
    """Stop the embedded server; the next command that needs it starts it again."""
    opts = options()
    stopped = _server(opts).stop()
    text = "stopped" if stopped else "it was not running"
    opts.output.result({"stopped": stopped}, lambda: opts.output.say(text))


@command(db)
def status() -> None:
    """Show whether the embedded server runs, where, and its PostgreSQL version."""
    opts = options()
    found = _server(opts).status()

    def show() -> None:
        values = [(name, Text(safe(str(getattr(found, name))))) for name in found.__struct_fields__]
        opts.output.lines(records([[(name.replace("_", " "), value) for name, value in values]]))

    opts.output.result(found, show)


@command(db)
def upgrade(
    existing: Annotated[
        bool, typer.Option("--existing", help="Refuse a database without a ledger instead of beginning one.")
    ] = False,
) -> None:
    """Bring the schema to the newest revision; needs a login that may act as its owner."""
    from ledger.stores.postgres.migration import upgrade as migrate  # noqa: PLC0415 - Alembic, needed once

    opts = options()
    before, after = migrate(ready_url(opts.settings), existing=existing, timeout_s=opts.settings.database_timeout_s)
    text = f"revision {after}, as before" if before == after else f"revision {before or 'none'} → {after}"
    opts.output.result({"before": before, "after": after}, lambda: opts.output.say(text))


@command(db)
def login(
    name: Annotated[str, typer.Argument(metavar="LOGIN", help="The login's name.")],
) -> None:
    """Create the application's login or change its password, to MEMORY_LEDGER_LOGIN_PASSWORD."""
    from ledger.stores.postgres.database_login import create_login  # noqa: PLC0415 - rare

    opts = options()
    settings = opts.settings
    if settings.database_url is None:
        message = "must be given: the embedded server has no logins"
        raise InvalidInput("embedded", message, field="--database-url")
    if settings.login_password is None:
        raise InvalidInput("bad_password", "must be set to the new password", field="MEMORY_LEDGER_LOGIN_PASSWORD")
    password = settings.login_password.get_secret_value()
    new = create_login(
        settings.database_url,
        check_name(name, field="LOGIN"),
        password,
        timeout_s=settings.database_timeout_s,
    )
    text = f"login {safe(name)} created" if new else f"password of login {safe(name)} changed"
    opts.output.result({"login": name, "made": new}, lambda: opts.output.say(text))


@command(db)
def restore(file: Annotated[str, typer.Argument(metavar="FILE", help="An export of a whole namespace.")]) -> None:
    """Restore an exported namespace, byte for byte; one of that name must not exist."""
    from ledger.formats.export.namespace_restore import restore as restore_namespace  # noqa: PLC0415 - rare

    opts = options()
    url = ready_url(opts.settings)
    with spooled(file) as spool, opts.output.progress("Restoring", "events") as progress:
        done = restore_namespace(
            url,
            lambda: lines(spool),
            namespace=opts.namespace,
            progress=progress,
            timeout_s=opts.settings.database_timeout_s,
        )
    copied = f"{counted(done.events, 'event')} of {counted(done.sessions, 'session')}"
    text = f"{copied} restored into namespace {done.namespace}"
    opts.output.result(done, lambda: opts.output.say(text))


@command(db)
def index(
    least: Annotated[
        int, typer.Option(min=1, help="Index namespaces with at least so many vectors of a model.")
    ] = 10_000,
) -> None:
    """Index the vectors of large namespaces; needs a login that may act as the schema's owner.

    Searches and writes go on meanwhile. Indexes of models that are no longer stored are dropped.
    """
    from ledger.stores.postgres.vector_indexes import index_vectors  # noqa: PLC0415 - rare

    opts = options()
    done = index_vectors(ready_url(opts.settings), least=least, timeout_s=opts.settings.database_timeout_s)
    text = f"indexes: {len(done.created)} created, {len(done.existing)} existing, {done.dropped} dropped"
    opts.output.result(done, lambda: opts.output.say(text))


@command(db)
def prune(
    days: Annotated[int, typer.Option(min=1, help="Delete idempotency keys older than this many days.")] = 7,
) -> None:
    """Delete old idempotency keys; no event changes."""
    opts = options()
    settings = opts.settings
    namespace_uuid = namespace_id(check_name(settings.namespace, field="namespace"))

    async def work() -> int:
        store = await open_store(settings)
        assert isinstance(store, PostgresStore)
        try:
            return await store.events.prune_requests(namespace_uuid, days=days)
        finally:
            await store.close()

    count = run(work)
    opts.output.result({"pruned": count}, lambda: opts.output.say(f"{counted(count, 'idempotency key')} deleted"))
