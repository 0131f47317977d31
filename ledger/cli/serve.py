"""The command ``serve``."""

from typing import Annotated

import typer

from ledger.cli.app import app, command, options, run


@command(app)
def serve(
    host: Annotated[str | None, typer.Option(help="The address to listen on; MEMORY_LEDGER_HOST.")] = None,
    port: Annotated[int | None, typer.Option(min=0, max=65535, help="The port; MEMORY_LEDGER_PORT.")] = None,
    workers: Annotated[int, typer.Option(min=1, max=64, help="The number of processes that answer requests.")] = 1,
    no_worker: Annotated[bool, typer.Option("--no-worker", help="Leave background work to other processes.")] = False,
) -> None:
    """Serve the working-memory API and the native API over HTTP, until interrupted.

    Requests that name no namespace use that of --namespace.
    """
    from ledger.server.launch import serve as run_service  # noqa: PLC0415 - loads the web framework
    from ledger.server.service_settings import check_address, load_service_settings  # noqa: PLC0415

    opts = options()
    service = load_service_settings(host=host, port=port, worker=False if no_worker else None)
    check_address(service)
    run(lambda: run_service(opts.settings, service, processes=workers, say=opts.output.say))
