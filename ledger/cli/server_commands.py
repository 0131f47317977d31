"""The commands ``serve`` and ``mcp``."""

import os
import signal
from typing import Annotated

import anyio
import typer

from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import opened
from ledger.memory import MemoryLedger


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


@command(app)
def mcp(
    http: Annotated[
        int | None, typer.Option("--http", min=0, max=65535, metavar="PORT", help="Serve over HTTP at /mcp instead.")
    ] = None,
    read_only: Annotated[bool, typer.Option("--read-only", help="Offer only the tools that read.")] = False,
) -> None:
    """Serve the Model Context Protocol to one client over standard input and output, until it closes them.

    With --http, it is the service of `serve`: the same settings, tokens and checks, and /mcp always on.
    """
    opts = options()
    if http is not None:
        from ledger.server.launch import serve as run_service  # noqa: PLC0415 - loads the web framework
        from ledger.server.service_settings import check_address, load_service_settings  # noqa: PLC0415

        service = load_service_settings(port=http, mcp="read_only" if read_only else "on")
        check_address(service)
        run(lambda: run_service(opts.settings, service, say=opts.output.say))
        return
    from ledger.adapters.mcp import server  # noqa: PLC0415 - an extra
    from ledger.server.traffic import logs  # noqa: PLC0415

    logs.configure("WARNING")
    opts.actor = "mcp"

    async def work() -> None:
        async with opened(opts) as memory, anyio.create_task_group() as tasks:
            tasks.start_soon(_end_at_signal, memory)
            await server(memory, read_only=read_only).run_stdio_async()
            tasks.cancel_scope.cancel()

    run(work)


async def _end_at_signal(memory: MemoryLedger) -> None:
    """End the process at the first signal, when what runs is done."""
    with anyio.open_signal_receiver(signal.SIGTERM, signal.SIGINT) as signals:
        async for number in signals:
            await memory.close()
            os._exit(128 + number)  # the SDK waits for input in a thread that nothing interrupts
