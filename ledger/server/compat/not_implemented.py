"""Summary views and their tasks, which are not implemented yet. Source: http §2.4."""

from starlette.responses import JSONResponse

from ledger.server.callers import CallerOf
from ledger.server.routes import compat_router

router = compat_router(tags=["summary views"])


async def _not_yet(caller: CallerOf) -> JSONResponse:
    """Answer 501: summary views are not implemented yet."""
    return JSONResponse({"detail": "Summary views are not implemented yet"}, 501)


for _method, _path in (
    ("GET", "/v1/summary-views"),
    ("POST", "/v1/summary-views"),
    ("GET", "/v1/summary-views/{view_id}"),
    ("DELETE", "/v1/summary-views/{view_id}"),
    ("POST", "/v1/summary-views/{view_id}/partitions/run"),
    ("GET", "/v1/summary-views/{view_id}/partitions"),
    ("POST", "/v1/summary-views/{view_id}/run"),
    ("GET", "/v1/tasks/{task_id}"),
):
    router.add_api_route(
        _path,
        _not_yet,
        methods=[_method],
        status_code=501,
        name=f"{_method.lower()} {_path}",
        operation_id=f"{_method.lower()}{_path.replace('/', '_').replace('{', '').replace('}', '').replace('-', '_')}",
    )
