"""Try memory configs on a session, one in full or several as rows: nothing is written, and no model is called."""

from typing import Annotated, Literal, TypeAlias

from pydantic import ConfigDict, Field

from ledger.application.json_models.comparison_json import (
    AnswersShape,
    ConfigFindingShape,
    ConfigJson,
    DifferenceShape,
    SpendingShape,
)
from ledger.application.json_models.shapes import Shape, Usd
from ledger.application.json_models.window_json import WindowShape
from ledger.application.reading.session_reads import existing_state
from ledger.application.reading.window_views import window_items
from ledger.application.replaying.trials import TriedConfig, try_configs
from ledger.errors import InvalidInput
from ledger.events.names import check_name
from ledger.results import Context
from ledger.server.access.callers import ReadCaller
from ledger.server.http.route_kinds import native_router
from ledger.server.http.strict_body import StrictBody
from ledger.server.native.command_routes import ConfigInput
from ledger.server.native.comparison_routes import VersionNumber
from ledger.server.native.session_conditions_of_writes import RequestedSession, SessionOf
from ledger.server.native.state_routes import when
from ledger.session.views import current_turn

router = native_router(prefix="/v1/sessions/{session_id}", tags=["proof"])

MOST_ENTRIES = 20_000
MOST_CONFIGS = 12

#: Estimate where no model has answered, or refuse; a reader calls no model.
OnMissing: TypeAlias = Literal["raise", "estimate"]


class WhatIfRequest(StrictBody):
    """What is different: the memory config, by default the session's own, or entries that are left out."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [{"config": {"window": {"type": "max_tokens", "memory_max_tokens": 1000}}, "without": [2]}]
        }
    )

    config: ConfigInput | None = None
    version: VersionNumber | None = None
    without: Annotated[list[str | int], Field(max_length=1_000)] = Field(default=[], description="Ids or versions.")
    recount: bool = Field(default=False, description="Count tokens again, with the config's tokenizer.")
    on_miss: OnMissing = "raise"


class TriedShape(Shape):
    """What a session would be; *completed* and *failed* count compactions, *difference* is from what was recorded."""

    version: int
    config: ConfigJson
    strategy: str
    spent: SpendingShape
    answers: AnswersShape
    estimated: bool
    completed: int
    failed: int
    window: WindowShape
    difference: DifferenceShape
    findings: tuple[ConfigFindingShape, ...]


class TrialsRequest(StrictBody):
    """Memory configs by name, at most 12."""

    model_config = ConfigDict(json_schema_extra={"examples": [{"configs": {"all": {"profile": "none"}}}]})

    configs: Annotated[dict[str, ConfigInput], Field(min_length=1, max_length=MOST_CONFIGS)]
    version: VersionNumber | None = None
    on_miss: Literal["estimate"] = "estimate"


class TrialShape(Shape):
    """A config on the session; if it is not *ok*, *problem* says why, and the numbers are null.

    *tokens* and *shown* are the tokens and the entries of the window at the end, *peak_tokens* the most at a model
    call, *calls* those of models for summaries.
    """

    config: str
    ok: bool
    problem: str | None
    strategy: str | None
    tokens: int | None
    peak_tokens: int | None
    shown: int | None
    compactions: int | None
    calls: int | None
    cost_usd: Usd | None
    estimated: bool


class TrialsShape(Shape):
    """A row for each config, in the order sent."""

    rows: tuple[TrialShape, ...]


@router.post("/what-if", operation_id="what_if")
async def what_if(session: SessionOf, body: WhatIfRequest, caller: ReadCaller) -> TriedShape:
    """Replay the session under another config, or without some entries; at most 20,000 entries."""
    await _check_size(session, body.version)
    found = await session.ledger.what_if(
        config=body.config,
        without=body.without,
        recount=body.recount,
        on_miss=body.on_miss,
        **when(body.version, None),
        **session.names,
    )
    shown = Context(found.session_id, found.version, found.window, found.config, current_turn(found.state))
    return TriedShape(
        version=found.version,
        config=found.config,
        strategy=found.config.window.type,
        spent=SpendingShape.model_validate(found.spent),
        answers=AnswersShape.model_validate(found.answers),
        estimated=found.estimated,
        completed=len(found.completed),
        failed=found.failed,
        window=WindowShape.model_validate(window_items(shown, found.state)),
        difference=DifferenceShape.model_validate(found.difference),
        findings=tuple(map(ConfigFindingShape.model_validate, found.findings)),
    )


@router.post("/trials", operation_id="try_configs")
async def trials(session: SessionOf, body: TrialsRequest, caller: ReadCaller) -> TrialsShape:
    """Replay the session under each of some configs, and return a row of numbers for each; at most 20,000 entries."""
    for name in body.configs:
        check_name(name, field="configs")
    await _check_size(session, body.version)
    rows: list[TriedConfig] = await try_configs(session.handle, body.configs, **session.names, version=body.version)
    return TrialsShape(rows=tuple(map(TrialShape.model_validate, rows)))


async def _check_size(session: RequestedSession, version: int | None) -> None:
    state = await existing_state(session.handle, **session.names, **when(version, None))
    if state.counts.added > MOST_ENTRIES:
        message = (
            f"is a session of more than {MOST_ENTRIES:,} entries, too many to try configs on; choose an earlier version"
        )
        raise InvalidInput("session_too_long", message, field="session_id", limit=MOST_ENTRIES)
