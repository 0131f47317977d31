"""The event of a recorded context: what a model was shown."""

from ledger.events.payload_types import Payload, PayloadPart


class KnowledgeSource(PayloadPart, frozen=True):
    """Part of a summary of a session of the namespace: the one at *version*, *characters* from the first one on."""

    session_id: str
    version: int
    first_character: int
    characters: int
    user_id: str = ""


class ContextRendered(Payload, frozen=True):
    """Exactly this was shown to a model, and the caller had it recorded; it changes nothing.

    ``rendered_version`` is the version whose window was rendered, under the window strategy and config of that
    version. ``text_digest`` is the SHA-256 of the text, ``messages_digest`` that of the canonical JSON of the chat
    messages, ``config_digest`` that of the canonical JSON of the memory config. ``items`` is what was shown, in
    order: runs of entry versions, both ends included, and ids of summaries. ``recalled`` are the entries that a
    search found, each with its score; ``gaps`` are those before which a gap was marked; ``knowledge`` are the pieces
    of knowledge bases, best first.
    """

    type = "context.rendered"
    rendered_version: int
    strategy: str
    config_digest: str
    text_digest: str
    messages_digest: str
    tokens: int
    items: tuple[tuple[int, int] | str, ...] = ()
    recalled: tuple[tuple[int, float], ...] = ()
    gaps: tuple[int, ...] = ()
    knowledge: tuple[KnowledgeSource, ...] = ()
