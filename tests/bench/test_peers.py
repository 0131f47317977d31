"""The comparison with other stores notices a lost message, one that a follower misses, and a store that fails."""

import asyncio
import itertools

from bench.peers.comparing import PLAIN, cells, compare
from bench.peers.counting import total, written_at_once
from bench.peers.memories import Page


class Whole:
    """A store that loses nothing."""

    def __init__(self) -> None:
        self.messages: list[tuple[str, str]] = []

    async def append(self, session: str, text: str) -> None:
        await asyncio.sleep(0)
        self.messages.append((session, text))

    async def texts(self, session: str) -> list[str]:
        return [text for own, text in self.messages if own == session]

    async def feed(self, after: int) -> Page | None:
        return [(place, text) for place, (_, text) in enumerate(self.messages, start=1) if place > after]


class ReadsThenWrites(Whole):
    """A store that writes a session back as it was read before: the last writer wins."""

    async def append(self, session: str, text: str) -> None:
        texts = await self.texts(session)
        await asyncio.sleep(0)
        others = [(own, each) for own, each in self.messages if own != session]
        self.messages = others + [(session, each) for each in (*texts, text)]

    async def feed(self, after: int) -> Page | None:
        return None


class NumbersBeforeItCommits(Whole):
    """A store that draws a number first and makes the message visible later, as with a serial column."""

    def __init__(self) -> None:
        super().__init__()
        self._numbers = itertools.count(1)
        self._visible: dict[int, str] = {}

    async def append(self, session: str, text: str) -> None:
        number = next(self._numbers)
        await asyncio.sleep(0.02 if number % 3 else 0)
        await super().append(session, text)
        self._visible[number] = text

    async def feed(self, after: int) -> Page | None:
        return sorted((number, text) for number, text in self._visible.items() if number > after)


class Busy(Whole):
    """A store that refuses the odd turns of each writer."""

    async def append(self, session: str, text: str) -> None:
        if not text.startswith("first") and int(text.rsplit(maxsplit=1)[-1]) % 2:
            raise RuntimeError("busy")
        await super().append(session, text)


class Refuses(Whole):
    """A store that cannot be used."""

    async def append(self, session: str, text: str) -> None:
        raise RuntimeError("no | luck")


async def test_a_store_that_keeps_everything_loses_and_misses_nothing() -> None:
    for sessions in (1, 8):
        counted = await written_at_once(Whole(), sessions=sessions, each=20)
        assert (counted.acknowledged, counted.lost, counted.missed, counted.errors) == (160, 0, 0, ())


async def test_a_lost_message_is_counted() -> None:
    counted = await written_at_once(ReadsThenWrites(), sessions=1, each=20)
    assert counted.acknowledged == 160
    assert counted.lost > 0
    assert counted.missed is None


async def test_a_message_that_a_follower_misses_is_counted() -> None:
    counted = await written_at_once(NumbersBeforeItCommits(), sessions=8, each=20)
    assert counted.lost == 0
    assert counted.missed


async def test_a_refused_append_is_not_acknowledged_and_not_lost() -> None:
    counted = await written_at_once(Busy(), sessions=8, each=20)
    assert (counted.acknowledged, counted.lost, counted.missed, len(counted.errors)) == (80, 0, 0, 80)


async def test_a_store_that_fails_has_its_error_in_its_line_and_the_others_go_on() -> None:
    memories = {PLAIN: Whole(), "loses": ReadsThenWrites(), "refuses": Refuses()}
    found = await compare(memories, lambda: "text", rounds=2, each=5)
    assert cells(PLAIN, "1", found)[:5] == (PLAIN, "1", "1.00", "1.00", "1.00")
    assert cells(PLAIN, "1", found)[5:] == ("0 of 160", "0 of 160")
    assert cells("loses", "1", found)[6] == "no feed"
    assert total(found["loses"].together).lost > 0
    assert cells("refuses", "1", found)[2] == "error: RuntimeError: no \\| luck"
