"""The ledger as an HTTP service: `create_app` makes the application of a `Service`, `memory-ledger serve` runs it."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ledger.server.application import create_app
    from ledger.server.service import Service
    from ledger.server.service_settings import ServiceSettings, load_service_settings

__all__ = ["Service", "ServiceSettings", "create_app", "load_service_settings"]

#: Loaded on first use, since the web framework is needed only for routes.
_LATER = {
    "Service": "ledger.server.service",
    "ServiceSettings": "ledger.server.service_settings",
    "create_app": "ledger.server.application",
    "load_service_settings": "ledger.server.service_settings",
}


def __getattr__(name: str) -> Any:
    if name in _LATER:
        return getattr(import_module(_LATER[name]), name)
    raise AttributeError(f"module 'ledger.server' has no attribute {name!r}")
