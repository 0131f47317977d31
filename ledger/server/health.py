"""Whether the service runs, and whether it can serve requests. Source: http W-13, trust S-12."""

from typing import Literal

from fastapi import APIRouter, Depends, Request
from pydantic import BaseModel
from starlette.responses import Response

from ledger.errors import LedgerError, LogRolledBack, NotFound
from ledger.server.access.callers import reader_or_manager
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import CompatRoute, NativeRoute, together
from ledger.server.service import Service
from ledger.server.traffic.metrics import TEXT, Metrics
from ledger.stores.postgres import PostgresStore
from ledger.stores.postgres.revisions import require_newest

_open = APIRouter(route_class=CompatRoute, tags=["health"])
_near = APIRouter(route_class=NativeRoute, tags=["health"], dependencies=[Depends(reader_or_manager)])


class Health(BaseModel):
    """The time, in milliseconds since 1970."""

    now: int


class Readiness(BaseModel):
    """Whether requests can be served; each check has a code, ``ok`` or that of its error.

    ``log`` alone does not make it unready: ``log_rolled_back`` says that events which this process knew are lost.
    """

    status: Literal["ready", "not_ready"]
    checks: dict[str, str]


@_open.get("/v1/health")
async def health(service: ServiceOf) -> Health:
    """Return the time; asks no store."""
    return Health(now=int(service.clock.now().timestamp() * 1000))


@_open.get("/healthz", status_code=204)
async def alive() -> None:
    """Return nothing: the answer itself shows that the service runs."""


@_near.get("/readyz", responses={503: {"model": Readiness}})
async def ready(service: ServiceOf, response: Response) -> Readiness:
    """Return whether requests can be served, and why not."""
    checks = {"service": "stopping" if service.draining.is_set() else "ok", **await _database(service)}
    is_ready = set(checks.values()) == {"ok"}
    # whoever lost events must learn it, but requests are answered from the log as it is, by all processes alike
    checks["log"] = LogRolledBack.code if service.services.states.saw_rollback else "ok"
    if is_ready:
        return Readiness(status="ready", checks=checks)
    response.status_code = 503
    response.headers["retry-after"] = "1"
    return Readiness(status="not_ready", checks=checks)


@_near.get("/metrics", response_class=Response)
async def metrics(request: Request) -> Response:
    """Return the metrics, if the settings turn them on."""
    collected = request.app.state.metrics
    if not isinstance(collected, Metrics):
        raise NotFound("metrics are off; set MEMORY_LEDGER_METRICS=true")
    return Response(collected.text(), media_type=TEXT)


async def _database(service: Service) -> dict[str, str]:
    """Return the codes of the checks of the database: reaching it, its schema, its settings, writes."""
    store = service.store
    if not isinstance(store, PostgresStore):
        return {"database": "ok"}
    try:
        revision = await store.revision()
    except LedgerError as fault:
        return {"database": fault.code}
    try:
        require_newest(revision)
    except LedgerError as fault:
        return {"database": "ok", "migrations": fault.code}
    try:
        await store.require_writable()
        writes = "ok"
    except LedgerError as fault:
        writes = fault.code
    settings = "unsafe_database" if store.login.unsafe_settings else "ok"
    return {"database": "ok", "migrations": "ok", "settings": settings, "writes": writes}


router = together(_open, _near)
