"""What `verify` answers: a verdict, and each problem with its place."""

from typing import Literal, TypeAlias
from uuid import UUID

import msgspec

from ledger.ports import StreamHead

#: *CACHES DIFFER*: the log is as it was written, what was built from it or lies beside it is not (layer 0).
#: *EMPTY*: there is no event, so nothing was proved. A log that was emptied is not told from a new one.
LogVerdict: TypeAlias = Literal["OK-CHAINED", "EMPTY", "CACHES DIFFER", "CANNOT VERIFY", "TAMPERED"]


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

    verdict: LogVerdict
    checked: int
    findings: tuple[Finding, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether there are no problems; of no events there are none either."""
        return self.verdict in {"OK-CHAINED", "EMPTY"}


def beside(problem: str, namespace: str, head: StreamHead | None = None, *, version: int | None = None) -> Finding:
    """Return a finding about what lies beside the log (layer 0)."""
    return Finding(
        problem=problem,
        layer=0,
        namespace=namespace,
        stream_id=head.stream_id if head else None,
        user_id=head.user_id or None if head else None,
        session_id=head.session_id if head else None,
        version=version,
    )
