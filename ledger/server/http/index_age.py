"""The header that says how old an answer is, on a server that takes no writes."""

from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ledger.indexes.stored_projections.staleness import collected

INDEX_AGE: Final = "Ledger-Index-Age"


class IndexAge:
    """Wraps the application; adds ``Ledger-Index-Age`` to an answer from an index that lacks the newest events."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Carry out one request."""
        with collected() as notices:

            async def tell(message: Message) -> None:
                if notices and message["type"] == "http.response.start":
                    header = (INDEX_AGE.lower().encode("ascii"), "; ".join(notices).encode("ascii"))
                    message = {**message, "headers": [*message["headers"], header]}
                await send(message)

            await self._app(scope, receive, tell)
