"""What every request passes before its route: a place, its checks, a deadline, an answer to every fault.

Source: trust S-7, S-10, §9 Transport.
"""

import asyncio

from starlette.types import ASGIApp, Receive, Scope, Send

from ledger.errors import LedgerError, Unavailable
from ledger.server.http import problems
from ledger.server.http.exchange import Exchange
from ledger.server.service_settings import ServiceSettings
from ledger.server.traffic.observers import Observers
from ledger.server.traffic.slots import SLOT, Slot, Slots


class RequestGuard:
    """Wraps the application; notifies *observers* of each request."""

    def __init__(self, app: ASGIApp, settings: ServiceSettings, observers: Observers, stopping: asyncio.Event) -> None:
        self._app = app
        self._settings = settings
        self._observers = observers
        self._stopping = stopping
        self._slots = Slots(settings)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out one request."""
        if scope["type"] != "http":
            return
        observed = self._observers.begin(scope)
        exchange = Exchange(scope, receive, send, self._settings, observed, self._stopping)
        try:
            await self._answer(exchange)
        finally:
            exchange.end()
            self._observers.end(observed)

    async def _answer(self, exchange: Exchange) -> None:
        deadline: asyncio.Timeout | None = None
        try:
            exchange.check()
            with Slot(self._slots, exchange.kind) as slot:
                exchange.scope[SLOT] = slot
                try:
                    async with asyncio.timeout(self._settings.request_timeout_s) as deadline:
                        exchange.deadline = deadline
                        await self._app(exchange.scope, exchange.receive, exchange.send)
                finally:
                    exchange.deadline = None
            await exchange.close_stream()
        except TimeoutError as fault:
            if deadline is None or not deadline.expired():
                self._observers.crashed(exchange.observed, fault)
            await self._refuse(exchange, Unavailable("no answer in time; the request may have been carried out"))
        except LedgerError as fault:
            await self._refuse(exchange, fault)
        except Exception as fault:  # noqa: BLE001 - logged without its text, which may hold content (trust P-16)
            self._observers.crashed(exchange.observed, fault)
            await self._refuse(exchange, LedgerError())

    async def _refuse(self, exchange: Exchange, fault: LedgerError) -> None:
        exchange.observed.code = fault.code
        if exchange.started:
            return  # an answer that has started cannot be replaced: uvicorn closes the connection
        dialect = problems.dialect_of(exchange.scope["path"])
        await problems.answer(fault, dialect)(exchange.scope, exchange.receive, exchange.send)
