"""Recording what was handed to a model, and showing it again."""

from msgspec.structs import replace

from ledger.codec import decode
from ledger.events import ContextRendered
from ledger.ids import Stream
from ledger.memory.core import Core
from ledger.results import Context, RecordedContext, Rendering
from ledger.seeing import rendered, shown_again
from ledger.session.commands import Command, RecordContext
from ledger.session.drafts import check_moment
from ledger.session.state import SessionState, at_rest
from projections.history import HISTORY


class Recording(Core):
    """Opt-in: an event for each context, which changes nothing else."""

    async def _record(self, stream: Stream, context: Context, how: Rendering) -> Context:
        """Append the event that *context* was handed over, at whatever version is next; return it with its receipt.

        A retry with the same key returns what the first attempt recorded, though the session has gone on.
        """
        event = rendered(context, self._clock.ulid())

        async def commands_for(state: SessionState) -> list[Command]:
            return [RecordContext(event)]

        key = how.get("idempotency_key")
        idempotency = None
        if key is not None:
            at = check_moment(how.get("at"), "at")
            asked = [how.get("version"), at and at.isoformat(), how.get("query")]
            idempotency = self._idempotency(stream, "get_context", asked, key)
        written = await self._writer.write(stream, commands_for, commutes=True, idempotency=idempotency)
        first, receipt = written.events[0].payload, written.receipts[0]
        if written.replayed and isinstance(first, ContextRendered):
            context = await self._shown_again(stream, first)
        recorded = RecordedContext(
            version=receipt.version,
            position=receipt.position,
            event_id=str(receipt.event_id),
            hash=receipt.hash.hex(),
            replayed=written.replayed,
        )
        return replace(context, recorded=recorded)

    async def _shown_again(self, stream: Stream, event: ContextRendered) -> Context:
        """Return what *event* says was shown, read from the log."""
        state = await self._states.at(stream, version=event.rendered_version)
        stored = await self._store.read_stream(stream, until=event.rendered_version)
        history = HISTORY.fold(map(decode, stored))
        return shown_again(
            event, stream.session_id, at_rest(state), history, await self._finder.knowledge(event.knowledge)
        )
