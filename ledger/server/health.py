"""Whether the service lives, and whether it can serve. Source: W-13, trust S-12."""

from fastapi import APIRouter
from pydantic import BaseModel

from ledger.server.ledgers import ServiceOf
from ledger.server.routes import CompatRoute

router = APIRouter(route_class=CompatRoute, tags=["health"])


class Health(BaseModel):
    """The time, in milliseconds since 1970."""

    now: int


@router.get("/v1/health")
async def health(service: ServiceOf) -> Health:
    """Return the time; asks no store (W-13)."""
    return Health(now=int(service.clock.now().timestamp() * 1000))


@router.get("/healthz", status_code=204)
async def alive() -> None:
    """Say nothing: that there is an answer is the answer (trust S-12)."""
