"""Who the caller is, and what this service is."""

from ledger.application.json_models.shapes import Shape
from ledger.release import RELEASE
from ledger.server.access.callers import ReadCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router
from ledger.server.service_settings import AuthMode

router = native_router(tags=["sessions"])


class PageRights(Shape):
    """What the page in the browser may do."""

    writes: bool


class MeShape(Shape):
    """The caller and the service; *namespaces* null means all, *home* is that of requests that name none."""

    actor: str
    scopes: tuple[str, ...]
    namespaces: tuple[str, ...] | None
    home: str | None
    release: str
    auth_mode: AuthMode
    ui: PageRights


@router.get("/v1/me", operation_id="get_me")
async def me(caller: ReadCaller, service: ServiceOf) -> MeShape:
    """Say who the caller is, what they may do, and which release answers."""
    return MeShape(
        actor=caller.actor,
        scopes=tuple(sorted(caller.scopes)),
        namespaces=None if caller.namespaces is None else tuple(sorted(caller.namespaces)),
        home=caller.home,
        release=RELEASE,
        auth_mode=service.settings.auth_mode,
        ui=PageRights(writes=False),
    )
