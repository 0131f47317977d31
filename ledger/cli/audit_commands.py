"""The commands ``seen`` and ``derived``."""

from typing import Annotated

import typer
from rich.text import Text

from ledger.application.json_models.audit_json import DerivedShape, SeenShape
from ledger.application.reading.context_audit import ContextAudit, Derived, LineSource
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, opened, when
from ledger.cli.output import Output, counted, moment, safe
from ledger.events import Ranges
from projections.log.timeline import spans

_DIFFERS = 40  # as `verify` for a tampered log
_VERDICTS = {
    "proved": ("proved: its digests are the recorded ones", "bold green"),
    "differs": ("DIFFERS: its digests are not the recorded ones", "bold red"),
    "not_recorded": ("not recorded: this is what would have been shown", "yellow"),
}


@command(app)
def seen(session: SessionArgument, user: UserOption = None, at: AtOption = None) -> None:
    """Show what the model saw, prove it by its recorded digest, and name each line's source.

    Exit code 40 if it differs from what was recorded.
    """
    opts = options()

    async def work() -> ContextAudit:
        async with opened(opts) as ledger:
            return await ledger.seen(session, **when(at, user))

    found = run(work)
    opts.output.result(SeenShape.model_validate(found), lambda: _print_seen(opts.output, found))
    if found.verdict == "differs":
        raise typer.Exit(_DIFFERS)


@command(app)
def derived(
    session: SessionArgument,
    entry: Annotated[str, typer.Argument(metavar="ENTRY", help="An entry's id, or its version.")],
    user: UserOption = None,
) -> None:
    """List what an entry reached: summaries, directly or through others, and contexts."""
    opts = options()

    async def work() -> Derived:
        async with opened(opts) as ledger:
            history = await ledger.get_history(session, user_id=user)
            named = any(past.entry_id == entry for past in history.entries)
            number = entry.isascii() and entry.isdigit() and not named
            return await ledger.derived(session, int(entry) if number else entry, user_id=user)

    found = run(work)
    opts.output.result(DerivedShape.model_validate(found), lambda: _print_derived(opts.output, found))


def _print_seen(output: Output, found: ContextAudit) -> None:
    recorded = found.recorded
    output.say(f"{found.session_id} at version {found.version}: {counted(found.tokens, 'token')}", "bold")
    if recorded is not None:
        by = f" by {recorded.actor}{' (claimed)' * recorded.actor_claimed}" if recorded.actor else ""
        output.say(f"recorded at version {recorded.version}, {moment(recorded.recorded_at)} UTC{by}", "dim")
    output.say(*_VERDICTS[found.verdict])
    output.say(f"text      SHA-256 {found.text_digest}", "dim")
    output.say(f"messages  SHA-256 {found.messages_digest}\n", "dim")
    summaries: dict[str, tuple[str, LineSource]] = {}
    for line in found.lines:
        mark = ""
        if line.source is not None:
            mark = line.source.id if line.source.kind == "knowledge" else f"entry v{line.source.version}"
            if line.source.kind == "summary":
                mark, _ = summaries.setdefault(line.source.id, (f"summary S{len(summaries) + 1}", line.source))
        shown = Text(f"{mark:<12} │ ", style="dim")
        shown.append(safe(line.text), style="")
        output.console.print(shown)
    for mark, source in summaries.values():
        via = f" (via {', '.join(source.via)})" if source.via else ""
        output.say(f"\n{mark} = {source.id}, of version {source.version} = {_entries(source.entries)}{via}", "dim")


def _print_derived(output: Output, found: Derived) -> None:
    names = ", ".join(f"v{version}" for version in found.versions)
    output.say(f"Entry {found.entry_id} ({names}) of {found.session_id}, up to version {found.version}", "bold")
    for summary in found.summaries:
        state = "in the window" if summary.live else "history"
        output.say(f"  summary {summary.summary_id}, v{summary.version}, {state}: {_how(summary.how, summary.via)}")
    for context in found.contexts:
        output.say(
            f"  context v{context.version} of version {context.rendered_version}: {_how(context.how, context.via)}"
        )
    if not found.summaries and not found.contexts:
        output.say("  It reached no summary and no recorded context.")


def _how(how: str, via: tuple[str, ...]) -> str:
    """Return in words how something was reached."""
    words = {"covers": "covers it", "task": "its prompt named it as the task", "shows": "shows it"}
    return words.get(how) or f"via {', '.join(via)}"


def _entries(covered: Ranges) -> str:
    return f"entries {spans(covered)}"
