"""Measure several memory configs on one session of a ledger: recorded summaries, else placeholders of their length."""

import asyncio
from collections.abc import Mapping, Sequence
from decimal import Decimal

import msgspec

from ledger.application.handle import NamespaceHandle
from ledger.errors import InvalidInput
from ledger.events import RecordedEvent
from ledger.replay.backtest.shown import Follower
from ledger.replay.what_if.config_replay import Replay
from ledger.replay.what_if.recorded_answers import cache_of
from ledger.replay.what_if.run import AnswerSource, answer_source, run, side_of
from ledger.results import ConfigLike
from projections.memory_config import config as memory_config


class TriedConfig(msgspec.Struct, frozen=True, kw_only=True):
    """A config on a session; if it is not *ok*, *problem* says why, and the numbers are None.

    *tokens* and *shown* are the tokens and the entries of the window at the end, *peak_tokens* the most at a model
    call, *calls* those of models for summaries; *cost_usd* is None if a model has no price.
    """

    config: str
    ok: bool = True
    problem: str | None = None
    strategy: str | None = None
    tokens: int | None = None
    peak_tokens: int | None = None
    shown: int | None = None
    compactions: int | None = None
    calls: int | None = None
    cost_usd: Decimal | None = None
    estimated: bool = False


async def try_configs(
    handle: NamespaceHandle,
    configs: Mapping[str, ConfigLike],
    *,
    session_id: str,
    user_id: str | None = None,
    version: int | None = None,
) -> list[TriedConfig]:
    """Return a row for each of *configs*, in their order; a config that is wrong has a row that says so.

    Raises:
        SessionNotFound, VersionNotFound: the session or the version does not exist.
        UnknownEvent: a newer release wrote to the session.
    """
    events = await handle.events(session_id, user_id, version=version)
    source = answer_source(handle.services.compactor.summarizer_of(handle.stream(session_id, user_id)), events)
    rows = []
    for name, config in configs.items():
        try:
            rows.append(await _tried(handle, name, config, events, source))
        except InvalidInput as fault:
            rows.append(TriedConfig(config=name, ok=False, problem=str(fault)))
        await asyncio.sleep(0)  # a caller that has gone need not wait for the others
    return rows


async def _tried(
    handle: NamespaceHandle, name: str, config: ConfigLike, events: Sequence[RecordedEvent], source: AnswerSource
) -> TriedConfig:
    loaded = memory_config.load(config)
    follower = Follower(events, loaded)
    replay = Replay(loaded, method=source.method, model=source.model, observe=follower.observe)
    replayed, answers = await run(
        replay,
        events,
        cache=cache_of(events),
        answer_source=source,
        on_miss="estimate",
        tokenizer=loaded.tokenizer,
        models=handle.services.models,
    )
    side = side_of(replayed, handle.services.prices)
    return TriedConfig(
        config=name,
        strategy=loaded.window.type,
        tokens=side.window.tokens,
        peak_tokens=max(follower.shown, default=None),
        shown=len(side.window.entries),
        compactions=side.spent.compactions,
        calls=side.spent.model_calls,
        cost_usd=side.spent.cost_usd,
        estimated=answers.estimated > 0,
    )
