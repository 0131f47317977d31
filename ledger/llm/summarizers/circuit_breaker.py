"""A circuit breaker: a model that fails repeatedly is not called for a while (trust M-1)."""

import time
from collections.abc import Callable
from typing import Final

from ledger.errors import SummarizerFailed
from ledger.ports import Summarizer, SummaryText
from projections.prompts import SummaryRequest

FAILURES: Final = 5
PAUSE_S: Final = 30.0


class CircuitBreaker:
    """A `ports.models.Summarizer` that calls another one, and pauses after *failures* failures in a row."""

    def __init__(
        self,
        summarizer: Summarizer,
        *,
        failures: int = FAILURES,
        pause_s: float = PAUSE_S,
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        self._summarizer = summarizer
        self._failures, self._pause_s, self._monotonic = failures, pause_s, monotonic
        self._failed = 0
        self._open_until = 0.0

    @property
    def method(self) -> str:
        """The method of the inner summarizer."""
        return self._summarizer.method

    @property
    def model(self) -> str | None:
        """The model of the inner summarizer."""
        return self._summarizer.model

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        """Return the inner summarizer's answer.

        Raises:
            SummarizerFailed: the inner summarizer failed, or the circuit is open.
        """
        if self._monotonic() < self._open_until:
            raise SummarizerFailed("error", f"the summarizer failed {self._failed} times in a row and is left alone")
        try:
            answer = await self._summarizer.summarize(request)
        except BaseException:  # a deadline cancels it
            self._failed += 1
            if self._failed >= self._failures:
                self._open_until = self._monotonic() + self._pause_s
            raise
        self._failed = 0
        return answer
