"""Random changes of random states, in runs that overlap, while compactions go on. Source: adapters LC-2."""

import asyncio
import re
from collections.abc import Callable
from random import Random
from typing import Any

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, ToolMessage
from langchain_core.runnables import RunnableLambda

from ledger.errors import LedgerError
from ledger.memory import MemoryLedger
from ledger.ports import Store
from tests.adapters.langchain.watched import THREAD, Appending, Watched, answered
from tests.support.slow_store import SlowStore

ROUNDS = 12
CONFIG = {"compactions": [{"type": "token_threshold", "max_entries": 8, "recent_window": 3}]}
#: What is in each message, once; a summary repeats those of what it covers.
MARK = re.compile(r"m\d+m")


class Messages:
    """Makes messages, each with a mark of its own, and changes lists of them as graphs do."""

    def __init__(self, random: Random) -> None:
        self._random = random
        self._made = 0

    def text(self) -> str:
        self._made += 1
        return f"m{self._made}m {'said at some length and with care, ' * 3}"

    def turn(self) -> list[AnyMessage]:
        """Return a question, or a question with a call and its result."""
        asked = [HumanMessage(self.text(), id=self.text())]
        if self._random.random() < 0.5:
            return [*asked]
        call = {"id": self.text(), "name": "look", "args": {"of": self.text()}}
        result = ToolMessage(self.text(), tool_call_id=call["id"], name="look", id=self.text())
        return [*asked, AIMessage("", tool_calls=[call], id=self.text()), result]

    def changed(self, state: list[AnyMessage]) -> list[AnyMessage]:
        """Return *state* with its next messages: usually appended, sometimes to another state."""
        change, turns = self._random.random(), groups(state)
        if not turns or change < 0.5:
            return [*state, *self.turn()]
        at = self._random.randrange(len(turns))
        if change < 0.65:  # replaced in place
            turns[at] = [HumanMessage(self.text(), id=turns[at][0].id)]
        elif change < 0.8:  # some removed
            turns = [turn for turn in turns if self._random.random() < 0.8]
        elif change < 0.9:  # trimmed
            turns = [[HumanMessage(self.text(), id=self.text())], *turns[at:]]
        else:  # from an earlier checkpoint
            turns = turns[:at]
        return [*(message for turn in turns for message in turn), *self.turn()]


def groups(state: list[AnyMessage]) -> list[list[AnyMessage]]:
    """Return the messages of *state* by the question that they follow."""
    found: list[list[AnyMessage]] = []
    for message in state:
        if message.type == "human":
            found.append([])
        found[-1].append(message)
    return found


def marks(texts: Any) -> list[str]:
    return list(dict.fromkeys(MARK.findall(str(texts))))


async def run(middleware: Watched, messages: Messages, state: list[AnyMessage], calls: int) -> list[AnyMessage]:
    """Ask the model *calls* times with a state that changes in between, and return the last state."""

    async def end(last: list[AnyMessage]) -> list[AnyMessage]:
        await middleware.aafter_agent({"messages": last}, None)  # type: ignore[arg-type]
        return last

    for _ in range(calls):
        answer = AIMessage(messages.text(), id=messages.text())
        state = await answered(middleware, messages.changed(state), answer)
    return await RunnableLambda(end).ainvoke(state, THREAD)


class Outcome:
    """How the calls of all runs went: pairs of marks that differ, and errors."""

    def __init__(self) -> None:
        self.wrong: list[Any] = []
        self.calls = 0
        self.summaries = 0

    def add(self, watched: Watched) -> None:
        self.calls += len(watched.calls)
        self.summaries += sum("[Previous conversation summary]" in str(shown) for _, shown in watched.calls)
        found = [(marks(state), marks(shown)) for state, shown in watched.calls]
        self.wrong += [pair for pair in found if pair[0] != pair[1]]


async def random_runs(kind: Callable[..., Watched], store: Store, namespace: str, seed: int) -> Outcome:
    random, outcome = Random(seed), Outcome()
    messages = Messages(random)
    slow: Any = SlowStore(store, random)
    opening: Any = {
        "namespace": namespace,
        "store": slow,
        "config": CONFIG,
        "summarizer": lambda prompt: " ".join(marks(prompt)),
    }
    async with MemoryLedger.open(**opening) as one, MemoryLedger.open(**opening) as other:
        middlewares = [kind(ledger=one), kind(ledger=other)]  # as of two processes
        state: list[AnyMessage] = []
        for _ in range(ROUNDS):
            runs = [
                run(random.choice(middlewares), messages, state, random.randint(1, 3))
                for _ in range(random.randint(1, 5))
            ]
            ended = await asyncio.gather(*runs, return_exceptions=True)
            for fault in [each for each in ended if isinstance(each, BaseException)]:
                assert isinstance(fault, LedgerError), fault
                outcome.wrong.append(fault)
            state = random.choice([each for each in ended if isinstance(each, list)] or [state])
            if random.random() < 0.5:
                await one.settle()
                await other.settle()
        for middleware in middlewares:
            outcome.add(middleware)
        assert (await one.verify("t#context")).ok
    return outcome


async def test_each_call_is_shown_its_own_state_in_order__LC_2(store: Store, namespace: str, seed: int) -> None:
    outcome = await random_runs(Watched, store, namespace, seed)
    assert outcome.wrong == []
    assert outcome.calls > ROUNDS
    assert outcome.summaries


async def test_a_middleware_that_adds_at_the_end_mixes_runs(store: Store, namespace: str, seed: int) -> None:
    """The control of the test above."""
    assert (await random_runs(Appending, store, namespace, seed)).wrong
