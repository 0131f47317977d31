"""Prove the log: recompute every hash from the stored bytes and check every event against its neighbours.

The layers are those of trust §6 that need only the database: 1 the chain of each stream and the lives of its session,
2 the stored heads, 3 the positions and their counter. They detect partial edits, not a rewrite of everything (trust
L-1).
"""

from ledger.verification.checking import verify_namespace, verify_session
from ledger.verification.findings import Finding, VerifyReport

__all__ = ["Finding", "VerifyReport", "verify_namespace", "verify_session"]
