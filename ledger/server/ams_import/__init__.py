"""Import the sessions and records of a Redis Agent Memory Server (AMS), or of another ledger, over its own API.

    async with AmsSource.open(url, token=None) as source, AmsImport.open(settings, service_settings) as ams_import:
        result = await ams_import.run(source)

Source: http §2.
"""

from ledger.server.ams_import.ams_client import AmsSource
from ledger.server.ams_import.ams_importer import ACTOR, AmsImport, AmsImportResult, Refusal

__all__ = ["ACTOR", "AmsImport", "AmsImportResult", "AmsSource", "Refusal"]
