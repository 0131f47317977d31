"""Routes for tests of the frame: a strict body, a lenient one, a slow answer, a crash, a stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Annotated

from fastapi import Depends
from pydantic import BaseModel, Field
from starlette.responses import StreamingResponse

from ledger.errors import DatabaseUnavailable, VersionConflict
from ledger.server.access.callers import Caller, CallerOf, Permission
from ledger.server.http.route_kinds import compat_router, native_router
from ledger.server.http.strict_body import LenientBody, PageLimit, StrictBody

native = native_router(prefix="/v1/probe")
compat = compat_router(prefix="/v1/memory/probe")
ROUTERS = (native, compat)


class Strict(StrictBody):
    role: str = "user"
    count: int = 0
    nested: dict[str, object] = Field(default_factory=dict)


class Lenient(LenientBody):
    role: str = "user"
    count: int = 0


class Echo(BaseModel):
    role: str
    count: int


class Who(BaseModel):
    actor: str
    scopes: list[str]
    namespaces: list[str] | None
    namespace: str


def who(caller: Caller, namespace: str | None) -> Who:
    names = None if caller.namespaces is None else sorted(caller.namespaces)
    chosen = caller.namespace(namespace)
    return Who(actor=caller.actor, scopes=sorted(caller.scopes), namespaces=names, namespace=chosen)


@native.post("")
async def strict(body: Strict) -> Echo:
    return Echo(role=body.role, count=body.count)


@compat.post("")
async def lenient(body: Lenient) -> Echo:
    return Echo(role=body.role, count=body.count)


@native.get("/who")
async def tell(caller: CallerOf, namespace: str | None = None) -> Who:
    return who(caller, namespace)


@native.get("/admin")
async def administrate(caller: Annotated[Caller, Depends(Permission("admin"))]) -> None:
    pass


@native.get("/list")
async def listed(limit: PageLimit = 100) -> int:
    return limit


@native.get("/slow")
async def slow() -> str:
    await asyncio.sleep(0.7)
    return "done"


@native.get("/crash")
async def crash(text: str = "") -> None:
    raise RuntimeError(f"secret {text}")


@native.get("/conflict")
async def conflict() -> None:
    raise VersionConflict(current=7, expected=5)


@native.get("/away")
@compat.get("/away")
async def away() -> None:
    raise DatabaseUnavailable("the database does not answer (57P01); try again")


@native.get("/stream")
async def stream() -> StreamingResponse:
    async def events() -> AsyncIterator[bytes]:
        number = 0
        while True:
            number += 1
            yield f"id: {number}\ndata: tick\n\n".encode()
            await asyncio.sleep(0.05)

    return StreamingResponse(events(), media_type="text/event-stream")
