"""The commands ``config show`` and ``config check``."""

from collections.abc import Sequence
from typing import Annotated, Any, TypeAlias

import typer

from ledger.application.json_models.comparison_json import ConfigCheckShape
from ledger.cli.app import command, config, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, config_in, opened, when
from ledger.cli.file_source import read_bounded
from ledger.cli.output import Output
from ledger.cli.rebuild_progress import rebuilt
from ledger.errors import InvalidInput
from ledger.events.strict_json import BODY, parse
from projections.memory_config import config as memory_config
from projections.memory_config import config_check
from projections.memory_config.config import MemoryConfig
from projections.memory_config.config_check import ConfigFinding

RebuildOption: TypeAlias = Annotated[
    bool,
    typer.Option(
        "--rebuild", help="Show the whole history as if the config had always applied; waits until that is done."
    ),
]


@command(config)
def show(
    session: SessionArgument,
    change: Annotated[
        list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a field; VALUE is JSON or text.")
    ] = None,
    file: Annotated[str | None, typer.Option("--file", metavar="FILE", help="A memory config as JSON; or -.")] = None,
    rebuild: RebuildOption = False,
    user: UserOption = None,
    at: AtOption = None,
) -> None:
    """Print a session's memory config, or change it first with --set or --file."""
    opts = options()
    changes = _changes(change or [], file)

    async def work() -> MemoryConfig:
        async with opened(opts) as ledger:
            if changes:
                changed = await ledger.update_config(session, changes, rebuild=rebuild, user_id=user)
                if changed.version == 1:
                    opts.output.note(f"session {session!r} had no events; it is created with this config")
                elif changed.opened:
                    old = "what it had before is in its history"
                    opts.output.note(
                        f"session {session!r} had ended or expired; it begins anew with this config; {old}"
                    )
                return (await rebuilt(ledger, opts.output, session, changed, user_id=user)).config
            return (await ledger.get_state(session, **when(at, user))).config

    if rebuild and not changes:
        raise InvalidInput("missing_field", "give the change, with --set or --file", field="--rebuild")
    if changes and at:
        raise InvalidInput("bad_version", "must not be given with a change: the past cannot be changed", field="--at")
    value = memory_config.dump(run(work))
    opts.output.result(value, lambda: opts.output.document(value))


@command(config)
def check(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A memory config as JSON; or -.")],
    session: Annotated[
        str | None, typer.Option("--session", metavar="SESSION", help="Replay this session under the config.")
    ] = None,
    user: UserOption = None,
) -> None:
    """Say what is probably wrong with a memory config, by itself or on a session."""
    opts = options()
    wanted = config_in(file)

    async def work() -> tuple[ConfigFinding, ...]:
        if session is None:
            return config_check.check(wanted)
        async with opened(opts) as ledger:
            return (await ledger.what_if(session, wanted, on_miss="estimate", user_id=user)).findings

    found = run(work)
    value = ConfigCheckShape.model_validate({"findings": found})

    def show_all() -> None:
        show_findings(opts.output, found)
        if not found:
            opts.output.say("Nothing found.")

    opts.output.result(value, show_all)


def show_findings(output: Output, found: Sequence[ConfigFinding]) -> None:
    """Print each finding on a line of its own."""
    for finding in found:
        output.say(f"{finding.code}: {finding.field}: {finding.message}", style="yellow")


def _changes(pairs: list[str], file: str | None) -> dict[str, Any]:
    changes: dict[str, Any] = {}
    if file is not None:
        loaded = parse(read_bounded(file, limit=BODY.size))
        if not isinstance(loaded, dict):
            raise InvalidInput("wrong_type", "must be a JSON object", field="--file")
        changes.update(loaded)
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if not equals or not name:
            raise InvalidInput("missing_field", "must have the form KEY=VALUE", field="--set")
        try:
            changes[name] = parse(value.encode(errors="surrogateescape"))
        except InvalidInput:
            changes[name] = value
    return changes
