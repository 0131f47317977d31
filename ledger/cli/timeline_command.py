"""The command ``timeline``."""

from collections.abc import Awaitable, Callable, Sequence
from contextlib import suppress
from typing import Annotated, TypeAlias

import anyio
import typer
from rich.text import Text

from ledger.application.auditing.stored_log import MOST_EVENTS
from ledger.application.json_models.event_json import EventShape
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import AtOption, SessionArgument, UserOption, opened, when
from ledger.cli.output import Output, moment, one_line
from ledger.errors import LogRolledBack, SessionNotFound
from ledger.events import RecordedEvent
from ledger.history.log_reads import LoggedEvent
from ledger.memory import MemoryLedger
from projections.log.timeline import describe

FOLLOW_S = 0.5

#: Reads the events of a session after a version: as they are stored for JSON, decoded for people.
_Reading: TypeAlias = Callable[[MemoryLedger, str, int, str | None], Awaitable[Sequence[LoggedEvent | RecordedEvent]]]


@command(app)
def timeline(
    session: SessionArgument,
    user: UserOption = None,
    at: AtOption = None,
    after: Annotated[int, typer.Option(metavar="VERSION", help="Only events after this version.")] = 0,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Wait for new events, until Ctrl-C.")] = False,
) -> None:
    """List the events in order: what happened, when, and to what."""
    opts = options()
    read: _Reading = _logged if opts.output.json else _recorded

    async def work() -> None:
        async with opened(opts) as ledger:
            last, newest = after, None
            until = (await ledger.get_state(session, **when(at, user))).version if at is not None else None
            events = await read(ledger, session, after, user)
            if not events and not follow:
                await ledger.get_state(session, user_id=user)  # an unknown session is refused
            events = [event for event in events if until is None or event.version <= until]
            if opts.output.json and not follow:
                opts.output.result(
                    {"session_id": session, "events": [EventShape.model_validate(event) for event in events]},
                    lambda: None,
                )
                return
            while True:
                for event in events:
                    last, newest = event.version, event.event_id
                    if isinstance(event, LoggedEvent):
                        opts.output.line(EventShape.model_validate(event))
                    else:
                        _print_event(opts.output, event)
                if not follow:
                    return
                await anyio.sleep(FOLLOW_S)
                events = await read(ledger, session, last - (newest is not None), user)
                if newest is not None:
                    if not events or events[0].event_id != newest:
                        raise LogRolledBack
                    events = events[1:]

    run(work)


async def _recorded(ledger: MemoryLedger, session: str, after: int, user: str | None) -> list[RecordedEvent]:
    return await ledger.get_events(session, after_version=after, user_id=user)


async def _logged(ledger: MemoryLedger, session: str, after: int, user: str | None) -> list[LoggedEvent]:
    events: list[LoggedEvent] = []
    place: int | None = after
    with suppress(SessionNotFound):  # it may begin while it is followed
        while place is not None:
            page = await ledger.get_log(session, after_version=place, limit=MOST_EVENTS, user_id=user)
            events += page.events
            place = page.next_after
    return events


def _print_event(output: Output, event: RecordedEvent) -> None:
    line = Text(f"{event.version:>6} {moment(event.recorded_at)}  ")
    line.append(f"{event.type:<21}", style="bold")
    line.append(one_line(describe(event.payload), max(40, output.console.width - 50)))
    output.console.print(line)
