"""Chain of Density: a summary is rewritten at equal length; each pass adds entities that the last one missed.

After Adams et al., "From Sparse to Dense: GPT-4 Summarization with Chain of Density Prompting" (2023).
Source: R-COD-1 … R-COD-6.
"""

import re
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from ledger.errors import InvalidInput, SummarizerFailed
from ledger.events import Pass
from ledger.events.strict_json import check_text
from projections.prompts import SummaryRequest
from projections.strategies.base import Digest, Summarising

NEW_PER_PASS = 3
_FENCED = re.compile(r"```(?:json)?\s*(\{.*\})\s*```", re.DOTALL)

#: Returns the request of a pass, given its number, the summary so far, its entities, and the fault of the last answer.
Ask = Callable[[int, str, Sequence[str], str | None], SummaryRequest]


class _Answer(msgspec.Struct, frozen=True):
    """A well-formed answer."""

    missing_entities: tuple[str, ...]
    summary: str


def densify(ask: Ask, *, max_loops: int, count: Callable[[str], int]) -> Summarising:
    """Return the dialogue of at most *max_loops* passes, each with at most one repair.

    It ends ``complete``, ``converged`` (nothing was missing), ``partial`` (a pass failed) or ``degraded`` (an
    entity was lost); after the last three, the result is that of the pass before.

    Raises:
        SummarizerFailed: the first pass gave no usable answer.
    """
    passes: list[Pass] = []
    entities: list[str] = []
    ended = "complete"
    for number in range(1, max_loops + 1):
        try:
            answer, lost = yield from _pass(ask, number, passes[-1].summary if passes else "", entities)
        except SummarizerFailed:
            if number == 1:
                raise
            ended = "partial"
            break
        new = _new(answer.missing_entities, entities)
        if number > 1 and not new:
            ended = "converged"
            break
        if lost:
            ended = "degraded"
            break
        entities += new
        tokens = count(answer.summary)
        passes.append(
            Pass(
                entities=tuple(new),
                summary=answer.summary,
                tokens=tokens,
                entity_count=len(entities),
                density=round(len(entities) / max(1, tokens), 6),
            )
        )
    return Digest(passes[-1].summary, tuple(passes), ended)


def _pass(ask: Ask, number: int, previous: str, entities: Sequence[str]) -> Any:
    """Ask, and a second time if the answer is not usable; return the answer and the entities it lost."""
    fault: str | None = None
    for attempt in (1, 2):
        answer = _parsed((yield ask(number, previous, entities, fault)))
        if answer is None:
            fault = 'answer with one JSON object {"missing_entities": [...], "summary": "..."} and a summary in it'
            continue
        lost = [entity for entity in entities if entity.casefold() not in answer.summary.casefold()]
        if not lost or attempt == 2 or (number > 1 and not _new(answer.missing_entities, entities)):
            return answer, lost
        fault = f"the summary must still name: {', '.join(lost)}"
    raise SummarizerFailed("invalid_output", "the answer is not the requested JSON")


def _parsed(text: str) -> _Answer | None:
    fenced = _FENCED.search(text)
    try:
        answer = msgspec.json.decode((fenced.group(1) if fenced else text).encode(), type=_Answer)
        summary = answer.summary.strip()
        check_text(summary, field="summary")
    except (msgspec.MsgspecError, UnicodeEncodeError, InvalidInput):
        return None
    return _Answer(answer.missing_entities, summary) if summary else None


def _new(named: Sequence[str], known: Sequence[str]) -> list[str]:
    """Return the first few of *named* that are not *known*, stripped and without duplicates. Source: R-COD-4."""
    seen = {entity.casefold() for entity in known}
    new: list[str] = []
    for entity in (name.strip() for name in named):
        if entity and entity.casefold() not in seen and len(new) < NEW_PER_PASS:
            seen.add(entity.casefold())
            new.append(entity)
    return new
