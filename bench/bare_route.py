"""The peer over HTTP: one route that inserts a row and commits, in a process of its own."""

import itertools
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import msgspec
import uvicorn
from fastapi import FastAPI

from bench.plain import PlainTable
from bench.setting import plain_session


def application(url: str) -> FastAPI:
    """Return the application; its connections open when it starts."""
    opened: list[PlainTable] = []
    places = itertools.count()

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncIterator[None]:
        opened.append(await PlainTable.open(url))
        yield
        await opened[0].close()

    app = FastAPI(lifespan=lifespan)

    @app.post("/entries/{session_id}", status_code=201)
    async def add(session_id: str, body: dict[str, Any]) -> dict[str, int]:
        place = next(places)
        await opened[0].insert(plain_session(session_id), place, msgspec.json.encode(body))
        return {"place": place}

    return app


if __name__ == "__main__":
    uvicorn.run(application(sys.argv[1]), host="127.0.0.1", port=int(sys.argv[2]), log_config=None, access_log=False)
