"""The order of the writes to one session within a process."""

import asyncio
from collections import deque
from typing import Final


class _Session:
    """The writes to one session: how many go together, or whether one is alone; and who was just let in, or waits."""

    __slots__ = ("admitted", "alone", "together", "waiting")

    def __init__(self) -> None:
        self.alone = False
        self.together = 0
        self.admitted = 0
        self.waiting: Final[deque[tuple[asyncio.Future[None], bool]]] = deque()

    def enter(self, *, together: bool) -> None:
        self.together += together
        self.alone = not together

    def admits(self, *, together: bool) -> bool:
        return not self.alone and (together or not self.together)


class SessionTurns:
    """Gives writes their turns, in the order in which they come.

    Writes that commute go together, so that group commit can take them into one transaction. Any other is alone: it
    waits for those before it, and those after it wait for it.
    """

    def __init__(self) -> None:
        self._sessions: dict[int, _Session] = {}

    async def begin(self, key: int, *, together: bool) -> None:
        """Wait for a turn in the session with *key*; each turn must `end`."""
        session = self._sessions.get(key)
        if session is None:
            session = self._sessions[key] = _Session()
        elif session.waiting or session.admitted or not session.admits(together=together):
            await self._wait(key, session, together)
            return
        session.enter(together=together)

    def end(self, key: int, *, together: bool) -> None:
        """End a turn that began."""
        session = self._sessions[key]
        if together:
            session.together -= 1
        else:
            session.alone = False
        self._admit(key, session)

    async def _wait(self, key: int, session: _Session, together: bool) -> None:
        turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        session.waiting.append((turn, together))
        try:
            await turn
        except asyncio.CancelledError:
            if turn.cancelled():
                self._admit(key, session)  # those behind it may go now
            else:  # it was cancelled after it got its turn
                session.admitted -= 1
                self.end(key, together=together)
            raise
        session.admitted -= 1
        self._admit(key, session)

    def _admit(self, key: int, session: _Session) -> None:
        waiting = session.waiting
        while waiting:
            turn, together = waiting[0]
            if not turn.cancelled():
                if not session.admits(together=together):
                    return
                session.enter(together=together)
                session.admitted += 1
                turn.set_result(None)
            waiting.popleft()
        if not session.together and not session.alone and self._sessions.get(key) is session:
            del self._sessions[key]
