"""The ledger as an HTTP service: routes over `ledger.memory`, and nothing of it known below.

`create_app` makes the application of a `Service`, `memory-ledger serve` runs it.
"""

from ledger.server.application import create_app
from ledger.server.service import Service
from ledger.server.settings import ServiceSettings, load_service_settings

__all__ = ["Service", "ServiceSettings", "create_app", "load_service_settings"]
