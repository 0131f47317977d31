"""What the OpenAI Agents SDK tells of the run that writes, as metadata of entries. Source: adapters AD-12."""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple, Self

from agents.tracing import AgentSpanData, get_current_span, get_current_trace

from ledger.events import JsonObject

_UNTRACED: Final = "no-op"


class RunFacts(NamedTuple):
    """The trace of a run, the agent that has its turn, and the agents to which it may hand over."""

    run_id: str | None = None
    agent: str | None = None
    handoffs: tuple[str, ...] = ()

    @classmethod
    def current(cls) -> Self:
        """Return those of the run that this is called in; empty outside of runs. Without tracing no run has an id."""
        trace, span = get_current_trace(), get_current_span()
        run_id = None if trace is None or trace.trace_id == _UNTRACED else trace.trace_id
        about = None if span is None else span.span_data
        if not isinstance(about, AgentSpanData):
            return cls(run_id)
        return cls(run_id, about.name, tuple(about.handoffs or ()))

    def of(self, item: Mapping[str, Any]) -> JsonObject:
        """Return the metadata of *item*; what people and systems said is of no agent."""
        by_agent = item.get("role", "assistant") == "assistant"
        of_agent = {
            "run_id": self.run_id,
            "agent": self.agent if by_agent else None,
            "handoff_to": self._handoff_to(item.get("output")),
        }
        return {name: value for name, value in of_agent.items() if value is not None}

    def _handoff_to(self, output: Any) -> str | None:
        """Return the agent that the result of a handoff names, if it is one that this agent may hand over to."""
        if not self.handoffs or not isinstance(output, str):
            return None
        try:
            answer = json.loads(output)
        except (ValueError, RecursionError):
            return None
        to = answer.get("assistant") if isinstance(answer, dict) else None
        return to if to in self.handoffs else None
