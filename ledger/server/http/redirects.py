"""Redirects for the two paths that clients also use without a final slash (http W-1)."""

from fastapi import Request
from starlette.responses import Response

from ledger.server.http.route_kinds import compat_router

router = compat_router(include_in_schema=False)


@router.get("/v1/working-memory", status_code=307)
@router.post("/v1/long-term-memory", status_code=307)
async def with_slash(request: Request) -> Response:
    """Redirect to the path with a slash."""
    query = f"?{request.url.query}" if request.url.query else ""
    return Response(status_code=307, headers={"location": f"{request.url.path}/{query}"})
