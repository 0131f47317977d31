"""A function of the user as a summarizer: ``fn(prompt) -> str``, sync or async. Source: R-SUM-2."""

import asyncio
import inspect
import secrets
import threading
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from contextvars import copy_context
from functools import partial
from typing import Any

from ledger.errors import SummarizerFailed
from ledger.events.canonical import canonical_json
from ledger.ports import SummaryText
from projections.prompts import SummaryRequest, fence_token


class Callback:
    """A `ports.models.Summarizer` around a function; a sync function runs in a thread, so that it does not block.

    Its argument is the prompt, with a fence around the conversation; and ``target_tokens`` if it has that parameter.
    Text is a good answer of every strategy: where a prompt asks for JSON, it is the summary (R-SUM-2).
    """

    method = "callback"
    model: str | None = None

    def __init__(self, function: Callable[..., str | Awaitable[str]]) -> None:
        self._function = function
        self._takes_target = _accepts(function, "target_tokens")

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        """Return the function's result.

        Raises:
            SummarizerFailed: ``invalid_output`` if the result is not text.
            Exception: any exception of the function.
        """
        token = fence_token(request, secrets.token_hex)
        prompt = "\n\n".join(message.fenced(token) for message in request.messages)
        options: dict[str, Any] = {"target_tokens": request.target_tokens} if self._takes_target else {}
        if inspect.iscoroutinefunction(self._function):
            text = await self._function(prompt, **options)
        else:
            text = await _in_a_thread(partial(self._function, prompt, **options))
            if inspect.isawaitable(text):
                text = await text
        if not isinstance(text, str):
            raise SummarizerFailed("invalid_output", f"the callback returned {type(text).__name__}, not text")
        return SummaryText(_as_json(text) if request.form == "json" else text)


def _as_json(text: str) -> str:
    """Return *text* as an answer of Chain of Density that names no missing entity; one that is JSON as it is."""
    if not text.strip() or text.lstrip().startswith(("{", "```")):
        return text
    return canonical_json({"missing_entities": [], "summary": text}).decode()


async def _in_a_thread(function: Callable[[], Any]) -> Any:
    """Return the result of *function*, run in a thread of its own.

    A pool's thread that never ends would block other calls and the exit of the program; this one does not.
    """
    answer: Future[Any] = Future()

    def work() -> None:
        try:
            answer.set_result(function())
        except Exception as fault:  # noqa: BLE001 - it is raised where it is awaited
            answer.set_exception(fault)

    answer.set_running_or_notify_cancel()
    threading.Thread(target=copy_context().run, args=(work,), name="summarizer", daemon=True).start()
    return await asyncio.wrap_future(answer)


def _accepts(function: Callable[..., object], name: str) -> bool:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):
        return False
    return any(item.name == name or item.kind is item.VAR_KEYWORD for item in parameters)
