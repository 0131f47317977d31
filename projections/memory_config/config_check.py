"""What is probably wrong with a memory config, by itself and on a session that was replayed under it. Source: R-CFG-10.

Nothing here refuses a config: each finding is about one that is valid and does what it says, but seldom what is meant.
"""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Final, Literal, TypeAlias

import msgspec

from projections import conditions
from projections.conditions import Facts
from projections.memory_config.config import MemoryConfig
from projections.strategies.base import CompactionConfig, StateView
from projections.strategies.interactions import Triggers, all_interactions, passes
from projections.strategies.max_tokens import MaxTokens
from projections.strategies.preserving import is_preserved
from projections.strategies.rolling import Rolling
from projections.strategies.rolling_blocks import RollingBlocks
from projections.strategies.token_threshold import TokenThreshold
from projections.window import Window

FindingCode: TypeAlias = Literal[
    "condition_never_true",
    "preserved_over_limit",
    "compaction_in_most_turns",
    "few_assistant_messages",
    "newest_first",
]

#: A session with fewer turns tells nothing about how a config works.
FEWEST_TURNS: Final = 4
#: Entries of the shortest turn: a question and an answer.
_TURN_ENTRIES: Final = 2
#: Examples that a condition is tried on; one that needs more is not judged.
_MOST_EXAMPLES: Final = 128
#: Facts of a user message that may have any value, and facts that are numbers.
_UNKNOWN: Final = {"message": ("content", "name", "metadata"), "interaction": ("tools",)}
_NUMBERS: Final = (
    ("message", "tokens", 0),
    ("interaction", "tokens", 0),
    ("interaction", "message_count", 1),
    ("interaction", "index_from_end", 0),
)


class ConfigFinding(msgspec.Struct, frozen=True, kw_only=True):
    """Something that is probably not meant: *field* is its JSON path in the config, *message* says what to do."""

    code: FindingCode
    field: str
    message: str


class Trial(msgspec.Struct, frozen=True, kw_only=True):
    """A session as it would be under the config: its state and window, and what happened in it.

    *turns* and *answers* count the messages of the user and of the assistant, *compactions* the keys of those made.
    """

    state: StateView
    window: Window
    turns: int
    answers: int
    compactions: tuple[str, ...]


def check(config: MemoryConfig, trial: Trial | None = None) -> tuple[ConfigFinding, ...]:
    """Return what is probably wrong with *config*; with a *trial*, also what is wrong on that session."""
    found = [*_conditions(config, trial), *_frequent(config), *_order(config)]
    if trial is not None and trial.turns >= FEWEST_TURNS:
        frequent = {finding.field for finding in found if finding.code == "compaction_in_most_turns"}
        found += [finding for finding in _made_often(config, trial) if finding.field not in frequent]
        found += _answers_left(trial)
    if trial is not None:
        found += _preserved(config, trial)
    return tuple(found)


def _conditions(config: MemoryConfig, trial: Trial | None) -> Iterator[ConfigFinding]:
    listed: list[tuple[str, Sequence[str]]] = []
    if isinstance(config.window, MaxTokens):
        listed.append(("window.conditions", config.window.conditions))
    for at, compaction in enumerate(config.compactions):
        if isinstance(compaction, Triggers):
            listed.append((f"compactions[{at}].interaction_conditions", compaction.interaction_conditions))
    for field, texts in listed:
        never = [at for at, text in enumerate(texts) if not _may_hold([text])]
        for at in never:
            yield _never(f"{field}[{at}]", "it is false for every user message")
        if never or not texts:
            continue
        if not _may_hold(texts):
            yield _never(field, "together they are false for every user message")
        elif trial is not None:
            closed = [each for each in all_interactions(trial.state) if each.closed]
            if len(closed) >= FEWEST_TURNS and not any(
                passes(texts, interaction, len(closed) - 1 - place) for place, interaction in enumerate(closed)
            ):
                yield _never(field, f"none of the session's {len(closed)} interactions in the window meets it")


def _never(field: str, why: str) -> ConfigFinding:
    return ConfigFinding(
        code="condition_never_true",
        field=field,
        message=f"no interaction meets this condition: {why}, and a condition must hold for every message of an "
        "interaction; change or remove it",
    )


def _may_hold(texts: Sequence[str]) -> bool:
    """Tell whether a user message, the first of an interaction, can meet all conditions *texts*."""
    named, numbers = conditions.names_in(texts), conditions.numbers_in(texts)
    ranges: list[list[int]] = []
    for owner, name, least in _NUMBERS:
        near = {value + step for value in numbers for step in (-1, 0, 1)} | {least, conditions.LARGEST}
        ranges.append(sorted(value for value in near if value >= least) if (owner, name) in named else [least])
    examples = list(islice(_examples(ranges), _MOST_EXAMPLES + 1))
    return len(examples) > _MOST_EXAMPLES or conditions.may_hold(texts, examples, unknown=_UNKNOWN)


def _examples(ranges: Sequence[Sequence[int]]) -> Iterator[Facts]:
    for message_tokens, tokens, count, from_end in product(*ranges):
        for has_error in (False, True):
            message = {"role": "user", "kind": "message", "tokens": message_tokens, "seq": 1}
            yield {
                "message": {**message, "tool": None, "status": None, "content": "", "name": None, "metadata": {}},
                "interaction": {
                    "tokens": max(tokens, message_tokens) if len(ranges[1]) == 1 else tokens,
                    "message_count": count,
                    "tools": [],
                    "has_error": has_error,
                    "index_from_end": from_end,
                },
            }


def _frequent(config: MemoryConfig) -> Iterator[ConfigFinding]:
    for at, compaction in enumerate(config.compactions):
        found = _interval(compaction)
        if found is not None and found[0] < 2 * _TURN_ENTRIES:
            yield _often(f"compactions[{at}]", f"it acts again after {found[0]} entries", found[1])


def _interval(compaction: CompactionConfig) -> tuple[int, str] | None:
    """Return after how many entries *compaction* acts again, at least, and what to do if that is too soon."""
    match compaction:
        case TokenThreshold(auto_compress=True):
            entries = max(compaction.max_entries + 1 - compaction.recent_window, compaction.min_entries_to_compress)
            return entries, "raise `max_entries`, or lower `recent_window`"
        case Triggers() if compaction.interaction_threshold_qty > 0 and not compaction.interaction_conditions:
            turns = compaction.interaction_threshold_qty - compaction.interaction_keep
            return turns * _TURN_ENTRIES, "raise `interaction_threshold_qty`, or lower `interaction_keep`"
        case RollingBlocks() if compaction.max_summaries > 0:
            entries = compaction.size * (1 if compaction.unit == "entry" else _TURN_ENTRIES)
            return entries, "raise `size`"
        case _:
            return None


def _made_often(config: MemoryConfig, trial: Trial) -> Iterator[ConfigFinding]:
    for key, count in Counter(trial.compactions).items():
        at = next((at for at, each in enumerate(config.compactions) if each.key == key), None)
        if at is not None and 2 * count > trial.turns:
            why = f"it acted {count} times in {trial.turns} turns of the session"
            yield _often(f"compactions[{at}]", why, "raise its threshold, or let it keep less")


def _often(field: str, why: str, advice: str) -> ConfigFinding:
    return ConfigFinding(
        code="compaction_in_most_turns",
        field=field,
        message=f"this compaction acts in most turns: {why}, which changes the beginning of the prompt and may cost a "
        f"model call each time; {advice}",
    )


def _answers_left(trial: Trial) -> Iterator[ConfigFinding]:
    asked = sum(entry.starts_interaction for entry in trial.window.entries)
    answered = sum(entry.role == "assistant" and entry.kind != "tool_call" for entry in trial.window.entries)
    if asked >= FEWEST_TURNS and 4 * answered < asked and 2 * trial.answers > trial.turns:
        yield ConfigFinding(
            code="few_assistant_messages",
            field="window",
            message=f"the model is shown {asked} messages of the user and {answered} of its own {trial.answers}: "
            "questions without their answers; do not preserve `user_prompt`, or use the window `max_tokens`",
        )


def _preserved(config: MemoryConfig, trial: Trial) -> Iterator[ConfigFinding]:
    limit = config.token_limit
    if limit is None:
        return
    kinds = config.preserved or {"system_instruction"}
    items = [*trial.state.window.entries, *trial.state.summaries.live]
    tokens = sum(item.tokens for item in items if is_preserved(item, kinds))
    if tokens > limit:
        names = ", ".join(f"`{kind}`" for kind in sorted(kinds))
        advice = "preserve fewer kinds, or raise the limit" if config.preserved else "shorten them, or raise the limit"
        yield ConfigFinding(
            code="preserved_over_limit",
            field="window" if config.effective(config.window).token_limit == limit else "compactions",
            message=f"entries that always stay ({names}) have {tokens:,} tokens, and the limit is {limit:,}: nothing "
            f"else fits; {advice}",
        )


def _order(config: MemoryConfig) -> Iterator[ConfigFinding]:
    if isinstance(config.window, Rolling) and config.window.order == "newest_first":
        yield ConfigFinding(
            code="newest_first",
            field="window.order",
            message="the text of the context begins with the newest item, and a chat endpoint answers what stands "
            "last; send the messages, which are oldest first, or set `order` to `chronological`",
        )
