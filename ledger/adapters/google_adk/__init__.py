"""Sessions of the Google ADK in a ledger."""

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ledger.adapters.google_adk.session_service import LedgerSessionService

__all__ = ["LedgerSessionService"]


def __getattr__(name: str) -> object:
    if name != "LedgerSessionService":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    # what reads its events needs no SDK
    from ledger.adapters.google_adk.session_service import LedgerSessionService  # noqa: PLC0415

    return LedgerSessionService
