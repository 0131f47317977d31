"""The command ``add``: one entry from the command line, or a batch from a file."""

from typing import Annotated, Any

import typer

from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import SessionArgument, UserOption, opened
from ledger.cli.file_source import read_bounded
from ledger.cli.output import counted
from ledger.errors import InvalidInput
from ledger.events.strict_json import BODY, parse
from ledger.results import Added


@command(app)
def add(
    session: SessionArgument,
    text: Annotated[str | None, typer.Argument(metavar="TEXT", help="The content; - reads standard input.")] = None,
    role: Annotated[str, typer.Option(help="user, assistant or system.")] = "user",
    kind: Annotated[str | None, typer.Option(help="message (the default), tool_call, tool_result, context …")] = None,
    tool: Annotated[str | None, typer.Option(metavar="NAME", help="The tool of a call or result.")] = None,
    call_id: Annotated[str | None, typer.Option(metavar="ID", help="Links a result to its call.")] = None,
    file: Annotated[
        str | None, typer.Option("--file", metavar="FILE", help="A JSON list of entries, added as one batch; or -.")
    ] = None,
    key: Annotated[
        str | None,
        typer.Option("--idempotency-key", metavar="KEY", help="A repetition with this key adds nothing."),
    ] = None,
    user: UserOption = None,
) -> None:
    """Add an entry, or a batch of entries, to a session; the first one starts a new session."""
    opts = options()
    entries = _entries(text, role, kind, tool, call_id, file)

    async def work() -> Added:
        async with opened(opts) as ledger:
            added = await ledger.add_entries(session, entries, idempotency_key=key, user_id=user)
            await ledger.settle()
            return added

    added = run(work)

    def show() -> None:
        for entry in added.entries:
            known = " (was there already)" if entry.known or added.replayed else ""
            orphan = "; there is no call with its id" if entry.orphan else ""
            tokens = counted(entry.tokens, "token")
            opts.output.say(f"{session} version {entry.version}: {entry.kind}, {tokens}{known}{orphan}")

    opts.output.result(added, show)


def _entries(
    text: str | None, role: str, kind: str | None, tool: str | None, call_id: str | None, file: str | None
) -> list[Any]:
    if (text is None) == (file is None):
        raise InvalidInput("missing_field", "give a text, or --file with a JSON list of entries", field="TEXT")
    if file is not None:
        entries = parse(read_bounded(file, limit=BODY.size))
        if not isinstance(entries, list):
            raise InvalidInput("wrong_type", "must be a JSON list of entries", field="--file")
        return entries
    content = read_bounded("-", limit=BODY.size).decode(errors="surrogateescape") if text == "-" else text
    named = {"tool_name": tool, "tool_call_id": call_id, "kind": kind}
    entry = {"role": role, "content": content, **{name: value for name, value in named.items() if value is not None}}
    if kind == "tool_call":
        entry["arguments"] = _arguments(entry.pop("content") or "")
    return [entry]


def _arguments(text: str) -> Any:
    """Return a call's arguments: JSON if the text is JSON, else the text."""
    try:
        return parse(text.encode(errors="surrogateescape"))
    except InvalidInput:
        return text
