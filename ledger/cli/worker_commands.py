"""The commands ``worker``, ``jobs list`` and ``jobs retry``."""

import asyncio
import signal
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, nullcontext
from importlib.util import find_spec
from typing import Annotated, Any

import typer

from ledger.application.services import open_services
from ledger.cli.app import Options, app, command, jobs, options, run
from ledger.cli.output import counted, moment, one_line, safe
from ledger.errors import Unavailable
from ledger.events.names import check_name
from ledger.ports.job_queue import Job
from ledger.server.service_settings import load_service_settings
from ledger.server.traffic import logs
from ledger.stores.factory import open_embedded_server
from ledger.worker import Worker, load_worker_settings


@asynccontextmanager
async def _worker(opts: Options, *, namespaces: list[str] | None = None) -> AsyncIterator[Worker]:
    """Open a worker."""
    work = load_worker_settings()
    async with open_services(opts.settings, summarizer_model=work.generation_model) as services:
        services.compactor.most_in_a_row = work.compactions_in_a_row
        yield Worker(services, settings=work, namespaces=namespaces)


def _probes(worker: Worker) -> AbstractAsyncContextManager[None]:
    """Answer on the management port, if there is one; write the log as JSON lines, as the service does."""
    settings = load_service_settings()
    logs.configure(settings.log_level)
    if settings.management_port is None:
        return nullcontext()
    if find_spec("uvicorn") is None:
        raise Unavailable("the management port needs more packages: pip install 'memory-ledger[server]'")
    from ledger.server.worker_probes import probes  # noqa: PLC0415 - loads the web framework

    return probes(worker, settings)


@command(app)
def worker(
    once: Annotated[bool, typer.Option("--once", help="Do what is due now, then exit.")] = False,
) -> None:
    """Do background work until interrupted: in every namespace, unless --namespace names one.

    Several workers, on one machine or many, share the work; a service has one of its own.
    """
    opts = options()
    only = None if opts.namespace is None else [check_name(opts.namespace, field="namespace")]

    async def work() -> int:
        async with _worker(opts, namespaces=only) as worker:
            if not worker.extracts:
                opts.output.tell("no model is set, so no memories are extracted from messages", "yellow")
            if once:
                try:
                    return await worker.run_once()
                finally:
                    await worker.stop()
            stopped = asyncio.Event()
            loop = asyncio.get_running_loop()
            for number in (signal.SIGINT, signal.SIGTERM):
                try:
                    loop.add_signal_handler(number, stopped.set)
                except NotImplementedError:  # this platform's loop takes none
                    signal.signal(number, lambda *_: loop.call_soon_threadsafe(stopped.set))
            async with open_embedded_server(opts.settings), worker, _probes(worker):
                opts.output.tell("working; press Ctrl-C to stop")
                await stopped.wait()
            return 0

    done = run(work)
    if once:
        opts.output.result({"done": done}, lambda: opts.output.say(f"{counted(done, 'job')} done"))


@command(jobs, "list")
def list_(
    dead: Annotated[bool, typer.Option("--dead", help="Only dead jobs: those that failed too often.")] = False,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="The largest number of jobs, longest due first.")] = 100,
) -> None:
    """List the jobs of a namespace that are left to do, with their attempts and errors."""
    opts = options()

    async def work() -> list[Job]:
        async with _worker(opts) as worker:
            return await worker.jobs(opts.settings.namespace, dead=dead, limit=limit)

    found = run(work)

    def show() -> None:
        if not found:
            opts.output.say("There are no dead jobs." if dead else "There are no jobs.")
            return
        rows = [
            (
                safe(job.session_id),
                safe(job.user_id),
                job.kind,
                job.status,
                moment(job.due_at),
                str(job.attempts),
                one_line(job.last_error or "", 200),
            )
            for job in found
        ]
        opts.output.table(("session", "user", "job", "status", "due (UTC)", ">attempts", "~last error"), rows)

    opts.output.result({"jobs": [_value(job) for job in found]}, show)


@command(jobs)
def retry() -> None:
    """Retry the dead jobs of a namespace."""
    opts = options()

    async def work() -> int:
        async with _worker(opts) as worker:
            return await worker.revive(opts.settings.namespace)

    count = run(work)
    opts.output.result({"revived": count}, lambda: opts.output.say(f"{counted(count, 'job')} will be tried again"))


def _value(job: Job) -> dict[str, Any]:
    return {
        "session_id": job.session_id,
        "user_id": job.user_id or None,
        "kind": job.kind,
        "status": job.status,
        "due_at": job.due_at,
        "attempts": job.attempts,
        "last_error": job.last_error,
    }
