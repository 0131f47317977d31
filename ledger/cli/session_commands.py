"""The commands ``compress``, ``fork`` and ``clear``."""

from typing import Annotated

import msgspec
import typer

from ledger.application.json_models.compaction_json import CompactionShape
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import SessionArgument, UserOption, opened, timestamp
from ledger.cli.output import counted
from ledger.errors import SessionNotFound
from ledger.llm.compaction.compaction_result import CompactionResult
from ledger.results import Forked


@command(app)
def compress(
    session: SessionArgument,
    key: Annotated[str | None, typer.Option(help="One of the config's compactions; by default the first.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Even for a single entry.")] = False,
    user: UserOption = None,
) -> None:
    """Compact now: old entries leave the window, and a summary replaces them."""
    opts = options()

    async def work() -> CompactionResult:
        async with opened(opts) as ledger:
            return await ledger.compress(session, key=key, force=force, user_id=user)

    found = run(work)

    def show() -> None:
        entries = counted(found.entries_compressed, "entry")
        opts.output.say(f"{entries}, {found.tokens_before:,} → {found.tokens_after:,} tokens", "bold")
        opts.output.say(found.summary.text if found.summary else "")

    opts.output.result(CompactionShape.model_validate(found), show)


@command(app)
def fork(
    session: SessionArgument,
    new: Annotated[str, typer.Argument(metavar="NEW", help="The id of the new session.")],
    version: Annotated[int | None, typer.Option(help="The version to fork at; by default the newest.")] = None,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIMESTAMP", help="Fork at this time; needs an offset, e.g. Z.")
    ] = None,
    user: UserOption = None,
    new_user: Annotated[
        str | None, typer.Option("--new-user", metavar="NAME", help="The new session's user; by default the same.")
    ] = None,
) -> None:
    """Start a new session from another one, as it is now or was earlier."""
    opts = options()
    moment = None if at is None else timestamp(at)

    async def work() -> Forked:
        async with opened(opts) as ledger:
            return await ledger.fork(session, new, version=version, at=moment, user_id=user, new_user_id=new_user)

    forked = run(work)
    message = f"{new} starts from {session} at version {forked.at_version}"
    opts.output.result(msgspec.to_builtins(forked), lambda: opts.output.say(message))


@command(app)
def clear(
    session: SessionArgument,
    end: Annotated[bool, typer.Option("--end", help="Also end the session.")] = False,
    user: UserOption = None,
) -> None:
    """Empty the window and the summaries; the history keeps everything."""
    opts = options()

    async def work() -> int:
        async with opened(opts) as ledger:
            version = await ledger.clear_session(session, end=end, user_id=user)
            if not version:
                raise SessionNotFound(session)
            return int(version)

    version = run(work)
    opts.output.result(
        {"session_id": session, "version": version}, lambda: opts.output.say(f"{session} is empty at version {version}")
    )
