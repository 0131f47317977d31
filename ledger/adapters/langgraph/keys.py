"""Names of threads, checkpoints and channels: in configs, of sessions, and as keys. Source: adapters AD-3, LG-1."""

from hashlib import sha256
from typing import Final

from langchain_core.runnables import RunnableConfig

from ledger.adapters.foreign_names import key_of, name_of, stored_key
from ledger.events import JsonObject

CHECKPOINTS: Final = "langgraph.checkpoints"
WRITES: Final = "langgraph.writes"
BLOBS: Final = "langgraph.blobs"
#: Where a copy has the id of its thread, if its name is a digest: what is stored in its checkpoints is of the original.
COPIES: Final = "langgraph.copies"
COPY: Final = "thread"
#: The channel whose messages are entries.
MESSAGES: Final = "messages"
#: Between the parts of a key; escaped in each part.
_BETWEEN: Final = "|"
_LONGEST_PART: Final = 200


def session_of(thread_id: str) -> str:
    """Return the name of the session of a thread: its id as text, or an escaped form of that."""
    return name_of(str(thread_id))


def thread_of(session_id: str, stored: str | JsonObject) -> str:
    """Return the id of the thread of a session; the *stored* one if its name is a digest."""
    thread_id = key_of(session_id)
    return stored_key(stored) if thread_id is None else thread_id


def config_of(thread_id: str, namespace: str, checkpoint_id: str) -> RunnableConfig:
    """Return the config that names a checkpoint."""
    names = {"thread_id": thread_id, "checkpoint_ns": namespace, "checkpoint_id": checkpoint_id}
    return {"configurable": names}


def names_in(config: RunnableConfig) -> tuple[str, str]:
    """Return the thread and the namespace in *config*."""
    configurable = config["configurable"]
    return str(configurable["thread_id"]), configurable.get("checkpoint_ns") or ""


def beginning(namespace: str, checkpoint_id: str | None = None) -> str:
    """Return how the keys of a namespace of checkpoints begin, or those of the writes of one checkpoint."""
    parts = [namespace] if checkpoint_id is None else [namespace, checkpoint_id]
    return "".join(_part(part) + _BETWEEN for part in parts)


def checkpoint_key(namespace: str, checkpoint_id: str) -> str:
    """Return the key of a checkpoint; in a namespace, keys are in the order of ids."""
    return beginning(namespace) + _part(checkpoint_id)


def writes_key(namespace: str, checkpoint_id: str, task_id: str) -> str:
    """Return the key of the writes of a task."""
    return beginning(namespace, checkpoint_id) + _part(task_id)


def _part(text: str) -> str:
    escaped = _escape(text)
    return escaped if len(escaped) <= _LONGEST_PART else "~~" + sha256(escaped.encode()).hexdigest()


def _escape(text: str) -> str:
    octets = text.encode(errors="surrogatepass")
    return "".join(
        chr(octet) if chr(octet).isascii() and (chr(octet).isalnum() or chr(octet) in "._-") else f"%{octet:02X}"
        for octet in octets
    )
