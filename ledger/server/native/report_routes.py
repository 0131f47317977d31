"""The reports of backtests in a folder of the operator, who decides what is in it."""

import asyncio
import re
from datetime import UTC, datetime
from pathlib import Path as FilePath
from typing import Annotated, Any, Final

import msgspec
from fastapi import Path
from starlette.responses import Response

from ledger.application.json_models.shapes import Shape, Time
from ledger.errors import InvalidInput, NotFound, NotPermitted
from ledger.server.access.callers import Caller, ReadCaller
from ledger.server.http.dependencies import ServiceOf
from ledger.server.http.route_kinds import native_router

router = native_router(prefix="/v1/reports", tags=["proof"])

MOST_BYTES: Final = 20 * 1024 * 1024
_MOST_REPORTS: Final = 1_000
_NAME: Final = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}")
_REPORT: Final[dict[int | str, dict[str, Any]]] = {
    200: {"description": "As `backtest` wrote it.", "content": {"application/json": {"schema": {"type": "object"}}}}
}


class ReportShape(Shape):
    """A report in the folder."""

    name: str
    updated_at: Time
    bytes: int


class ReportsShape(Shape):
    """The reports, the newest first."""

    reports: tuple[ReportShape, ...]


@router.get("", operation_id="list_reports")
async def reports(caller: ReadCaller, service: ServiceOf) -> ReportsShape:
    """List the reports of backtests in the folder that `MEMORY_LEDGER_REPORTS` names, the newest first."""
    _check(caller)
    folder = service.settings.reports
    found = [] if folder is None else await asyncio.to_thread(_listed, folder)
    return ReportsShape(reports=tuple(sorted(found, key=lambda each: each.updated_at, reverse=True)[:_MOST_REPORTS]))


@router.get("/{name}", responses=_REPORT, response_class=Response, operation_id="get_report")
async def report(
    name: Annotated[str, Path(description="The report's name.", examples=["week-47"])],
    caller: ReadCaller,
    service: ServiceOf,
) -> Response:
    """Return the report of a backtest as it was written."""
    _check(caller)
    folder = service.settings.reports
    found = None if folder is None or not _NAME.fullmatch(name) else await asyncio.to_thread(_read, folder, name)
    if found is None:
        raise NotFound("there is no such report")
    return Response(found, media_type="application/json")


def _check(caller: Caller) -> None:
    """Refuse a caller who may not read all namespaces: a report may quote sessions of any."""
    if caller.namespaces is not None:
        raise NotPermitted("namespace_not_permitted", "this credential is not valid for all namespaces")


def _listed(folder: FilePath) -> list[ReportShape]:
    names = {path.stem if path.suffix == ".json" else path.name for path in folder.iterdir()} if folder.is_dir() else ()
    found = []
    for name in names:
        path = _file(folder, name) if _NAME.fullmatch(name) else None
        if path is not None:
            status = path.stat()
            changed = datetime.fromtimestamp(status.st_mtime, UTC)
            found.append(ReportShape(name=name, updated_at=changed, bytes=status.st_size))
    return found


def _read(folder: FilePath, name: str) -> bytes | None:
    path = _file(folder, name)
    if path is None:
        return None
    with path.open("rb") as file:
        data = file.read(MOST_BYTES + 1)
    if len(data) > MOST_BYTES:
        raise InvalidInput("bad_report", f"has more than {MOST_BYTES:,} bytes", field="name", limit=MOST_BYTES)
    try:
        value = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        value = None
    if not isinstance(value, dict) or "configs" not in value:
        raise InvalidInput("bad_report", "is not a report that `backtest` wrote as JSON", field="name")
    return data


def _file(folder: FilePath, name: str) -> FilePath | None:
    """Return the file of a report; None if there is none, or if it is a link to a place outside *folder*."""
    for path in (folder / f"{name}.json", folder / name / "report.json"):
        if path.is_file() and path.resolve().is_relative_to(folder.resolve()):
            return path
    return None
