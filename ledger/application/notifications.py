"""Call the handlers of this process when a session changes."""

import asyncio
import inspect
import logging
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from typing import Final, get_args

from ledger.errors import InvalidInput
from ledger.results import Notification

log = logging.getLogger("ledger")

IN_HANDLER: Final = "closing waits for the handlers, so a handler cannot close the ledger; close it where it was opened"


class Notifications:
    """The handlers by namespace and event; async handlers run as tasks."""

    def __init__(self) -> None:
        self._handlers: dict[tuple[str, str], list[Callable[..., object]]] = {}
        self._running: set[asyncio.Task[object]] = set()

    def add(self, namespace: str, event: Notification, handler: Callable[..., object]) -> Callable[[], None]:
        """Call *handler* after each *event* in a namespace; return a function that removes it.

        Raises:
            InvalidInput: there is no such event, or the handler is not callable.
        """
        if event not in get_args(Notification):
            known = ", ".join(get_args(Notification))
            raise InvalidInput("unknown_notification", f"must be one of {known}", field="event")
        if not callable(handler):
            raise InvalidInput("wrong_type", "must be a function", field="handler")
        handlers = self._handlers.setdefault((namespace, event), [])
        own = partial(handler)  # a new object, so that a handler given twice can be removed once
        handlers.append(own)

        def remove() -> None:
            with suppress(ValueError):
                handlers.remove(own)

        return remove

    def has_handler(self, namespace: str, event: Notification) -> bool:
        """Tell whether *event* has a handler."""
        return bool(self._handlers.get((namespace, event)))

    def notify(self, namespace: str, event: Notification, session_id: str, *details: object) -> None:
        """Call the handlers of *event*; a failure is logged and reaches neither the others nor the caller."""
        for handler in tuple(self._handlers.get((namespace, event), ())):
            try:
                outcome = handler(session_id, *details)
                if inspect.iscoroutine(outcome):
                    task = asyncio.create_task(outcome)
                    self._running.add(task)
                    task.add_done_callback(self._ended)
            except Exception:  # a handler is the user's code
                log.exception("a handler of %s failed", event)

    async def settle(self) -> None:
        """Wait for async handlers that are still running."""
        await asyncio.gather(*self._running, return_exceptions=True)

    def check_no_handler(self) -> None:
        """Refuse to wait for the handlers in one of them.

        Raises:
            InvalidInput: ``in_handler``.
        """
        if asyncio.current_task() in self._running:
            raise InvalidInput("in_handler", IN_HANDLER)

    def _ended(self, task: asyncio.Task[object]) -> None:
        self._running.discard(task)
        if not task.cancelled() and task.exception() is not None:
            log.error("a handler failed", exc_info=task.exception())
