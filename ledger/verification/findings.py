"""What `verify` answers: a verdict, and each problem with its place."""

from typing import Literal
from uuid import UUID

import msgspec


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One problem, and where it is."""

    problem: str
    layer: int
    namespace: str
    stream_id: UUID | None = None
    user_id: str | None = None
    session_id: str | None = None
    version: int | None = None
    position: int | None = None


class VerifyReport(msgspec.Struct, frozen=True, kw_only=True):
    """The verdict, the number of events checked, and the problems."""

    verdict: Literal["OK-CHAINED", "CANNOT VERIFY", "TAMPERED"]
    checked: int
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems."""
        return self.verdict == "OK-CHAINED"
