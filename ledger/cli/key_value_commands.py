"""The commands ``kept list``, ``kept get``, ``kept set`` and ``kept remove``."""

import json
from pathlib import Path
from typing import Annotated, TypeAlias

import typer

from ledger.application.json_models.key_value_json import KeptBatchShape, KeptPageShape, KeptShape
from ledger.cli.app import command, kept, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, check_exists, opened, when
from ledger.cli.file_source import read_bounded
from ledger.cli.output import counted, moment, one_line, safe_json
from ledger.errors import InvalidInput
from ledger.events.strict_json import BODY, parse
from ledger.results import KeptBatch, KeptValue
from ledger.session.key_value_drafts import KeptDraft

SpaceArgument: TypeAlias = Annotated[str, typer.Argument(metavar="SPACE", help="The space of the keys.")]
KeyArgument: TypeAlias = Annotated[str, typer.Argument(metavar="KEY", help="The key in that space.")]


@command(kept, "list")
def list_(
    session: SessionArgument,
    space: SpaceArgument,
    prefix: Annotated[str, typer.Option("--prefix", metavar="TEXT", help="Only keys that begin so.")] = "",
    after: Annotated[str | None, typer.Option("--after", metavar="KEY", help="Only greater keys.")] = None,
    limit: Annotated[int, typer.Option("--limit", metavar="N", help="At most so many values.")] = 50,
    user: UserOption = None,
    at: AtOption = None,
) -> None:
    """List the values that are kept beside the window, by key."""
    opts = options()

    async def work() -> list[KeptValue]:
        async with opened(opts) as ledger:
            listed = await ledger.list_kept(session, space, prefix=prefix, after=after, limit=limit, **when(at, user))
            if not listed:
                await check_exists(ledger, session, user)
            return listed

    found = run(work)
    rows = [[str(each.version), each.key, moment(each.recorded_at), one_line(_beginning(each), 60)] for each in found]
    shape = KeptPageShape(
        values=tuple(KeptShape.of(each) for each in found), next_after=found[-1].key if len(found) == limit else None
    )

    def show() -> None:
        if not rows:
            opts.output.say("There are no values.")
        opts.output.table((">version", "key", "recorded", "~value"), rows)

    opts.output.result(shape, show)


@command(kept)
def get(
    session: SessionArgument,
    space: SpaceArgument,
    key: KeyArgument,
    output: Annotated[
        str | None, typer.Option("--output", "-o", metavar="FILE", help="Write the bytes, or the JSON, to this file.")
    ] = None,
    user: UserOption = None,
    at: AtOption = None,
) -> None:
    """Print the value of a key, or write its bytes to a file."""
    opts = options()

    async def work() -> KeptValue:
        async with opened(opts) as ledger:
            found = await ledger.get_kept(session, space, key, **when(at, user))
            if found is None:
                await check_exists(ledger, session, user)
                raise InvalidInput("not_found", f"has no value in space {space}; `kept list` has the keys", field="key")
            return found

    found = run(work)
    content = found.value if isinstance(found.value, bytes) else json.dumps(found.value, ensure_ascii=False).encode()
    if output is not None:
        try:
            Path(output).write_bytes(content)
        except OSError as fault:
            raise InvalidInput("bad_value", f"cannot be written: {fault.strerror}", field=output) from None

    def show() -> None:
        if output is not None:
            opts.output.say(f"{counted(len(content), 'byte')} in {output}")
        elif isinstance(found.value, bytes):
            opts.output.say(f"{counted(len(content), 'byte')}, SHA-256 {found.digest}; --output FILE writes them")
        else:
            opts.output.document(found.value)

    opts.output.result(KeptShape.of(found), show)


@command(kept, "set")
def set_(
    session: SessionArgument,
    space: SpaceArgument,
    key: KeyArgument,
    value: Annotated[str | None, typer.Argument(metavar="JSON", help="The value; - reads standard input.")] = None,
    file: Annotated[
        str | None, typer.Option("--bytes", metavar="FILE", help="Store the bytes of a file instead.")
    ] = None,
    user: UserOption = None,
) -> None:
    """Store a value under a key beside the window, which no model sees."""
    if (value is None) == (file is None):
        raise InvalidInput("bad_arguments", "give a JSON value, or a file with --bytes", field="JSON")
    if file is not None:
        stored: object = read_bounded(file, limit=BODY.size)
    else:
        stored = parse(read_bounded("-", limit=BODY.size) if value == "-" else str(value).encode(), BODY)
    _keep(session, user, KeptDraft(space=space, key=key, value=stored), "stored")


@command(kept)
def remove(session: SessionArgument, space: SpaceArgument, key: KeyArgument, user: UserOption = None) -> None:
    """Hide the value of a key; the history keeps it."""
    _keep(session, user, KeptDraft(space=space, key=key, removed=True), "removed")


def _keep(session: str, user: str | None, draft: KeptDraft, done: str) -> None:
    opts = options()

    async def work() -> KeptBatch:
        async with opened(opts) as ledger:
            if draft.removed:
                await check_exists(ledger, session, user)
            return await ledger.keep(session, [draft], user_id=user)

    kept_batch = run(work)
    opts.output.result(
        KeptBatchShape.model_validate(kept_batch, from_attributes=True),
        lambda: opts.output.say(f"{draft.space} {draft.key} is {done}; {session} is at version {kept_batch.version}"),
    )


def _beginning(found: KeptValue) -> str:
    if isinstance(found.value, bytes):
        return counted(len(found.value), "byte")
    return safe_json(json.dumps(found.value, ensure_ascii=False))
