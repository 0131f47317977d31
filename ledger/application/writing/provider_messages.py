"""Messages of three shapes, added as they are, and the bytes of their parts. Source: adapters PM-1."""

from collections.abc import Sequence

from ledger.application.handle import NamespaceHandle
from ledger.application.reading.key_value_reads import get_kept_values
from ledger.application.writing.entry_writes import BATCH_ENTRIES, add_drafts
from ledger.errors import InvalidInput
from ledger.events.strict_json import check_integer
from ledger.formats.messages.message_intake import Message, read_messages
from ledger.indexes.search.knowledge import check_usable
from ledger.results import Added, ConfigLike, Context
from ledger.session.attachments import SPACE, references
from ledger.session.entry_drafts import draft_entry
from ledger.session.key_value_drafts import KeptDraft
from projections.memory_config import config as memory_config


async def add_messages(
    handle: NamespaceHandle,
    session_id: str,
    messages: Sequence[Message],
    *,
    idempotency_key: str | None = None,
    expected_version: int | None = None,
    user_id: str | None = None,
    config: ConfigLike | None = None,
) -> Added:
    """Record OpenAI chat or Anthropic messages, or items of OpenAI Responses, as they are, in one write.

    A message is JSON, or an object of the provider's client. Its text, each tool call and each result become an entry;
    what has no place there is in the entry's data. Bytes in base64 (images, files, audio) are kept beside the window
    under their digest: `get_attachments` returns them. *config* is that of a session that begins.

    Raises:
        InvalidInput: a message has no known shape; *field* says which, e.g. ``messages[3]``.
        VersionConflict: the session is not at *expected_version*.
        Forbidden: a message of the system needs the scope ``system``.
        Unavailable: the database could not be reached.
    """
    if not isinstance(messages, Sequence) or isinstance(messages, str | bytes):
        raise InvalidInput("wrong_type", "must be a list of messages", field="messages")
    if expected_version is not None:
        check_integer(expected_version, field="expected_version", code="bad_version", least=0)
    entries, attachments = read_messages(messages)
    if not 1 <= len(entries) <= BATCH_ENTRIES:
        message = f"must make 1 to {BATCH_ENTRIES} entries, not {len(entries)}"
        raise InvalidInput("batch_size", message, field="messages", limit=BATCH_ENTRIES)
    drafts = [draft_entry(raw, field=f"entry {at} of messages") for at, raw in enumerate(entries)]
    if any(draft.role == "system" for draft in drafts):
        handle.rights.check_system()
    return await add_drafts(
        handle,
        handle.stream(session_id, user_id),
        drafts,
        key=idempotency_key,
        expected_version=expected_version,
        config=None if config is None else check_usable(memory_config.load(config)),
        kept=[KeptDraft(space=SPACE, key=key, value=content) for key, content in attachments.items()],
    )


async def get_attachments(handle: NamespaceHandle, context: Context, *, user_id: str | None = None) -> dict[str, bytes]:
    """Return the bytes that the messages of *context* refer to, by digest: what its ``as_…`` methods take.

    Raises:
        SessionNotFound: the session is not there any more, or is another user's.
    """
    keys = sorted({digest for entry in context.entries for digest in references(entry.data)})
    if not keys:
        return {}
    found = await get_kept_values(handle, context.session_id, SPACE, keys, version=context.version, user_id=user_id)
    return {key: value.value for key, value in found.items() if isinstance(value.value, bytes)}
