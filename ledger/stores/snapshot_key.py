"""The key that proves snapshots: a setting, or a file beside the data of the embedded server (trust K-1)."""

import logging
import os
import secrets
from contextlib import suppress
from pathlib import Path
from typing import Final

from pydantic import SecretStr

from ledger.settings import Settings
from ledger.stores.embedded.server import default_data_dir

log = logging.getLogger("ledger")

FILE: Final = "snapshot.key"


def key_file(settings: Settings) -> Path | None:
    """Return the file with the key of the embedded server; None for another server."""
    if settings.database_url is not None:
        return None
    folder = settings.data_dir.expanduser() if settings.data_dir else default_data_dir()
    return folder / FILE


def snapshot_key(settings: Settings) -> bytes | None:
    """Return the key, after creating it if the embedded server has none; None if none is set or can be read."""
    if settings.key is not None:
        return settings.key.get_secret_value().encode()
    path = key_file(settings)
    if path is None:
        return None
    try:
        if not path.exists():
            _create(path)
        return path.read_bytes().strip() or None
    except OSError as fault:
        log.warning("%s cannot be used (%s), so long sessions are read from their events", path, fault.strerror)
        return None


def with_common_key(settings: Settings) -> Settings:
    """Return *settings* with a key of their own if they have none, so that the processes they are given to share it."""
    if settings.key is not None or settings.database_url is None:
        return settings
    return settings.model_copy(update={"key": SecretStr(secrets.token_hex(32))})


def _create(path: Path) -> None:
    """Create the file with its content at once: of several processes that do, one wins."""
    new = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
    try:
        with os.fdopen(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(secrets.token_hex(32) + "\n")
        with suppress(FileExistsError):
            os.link(new, path)
    finally:
        new.unlink(missing_ok=True)
