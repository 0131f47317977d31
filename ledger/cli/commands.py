"""Every command, in the order the help lists them; importing them registers them."""

from ledger.cli import (  # noqa: F401 - imported to register their commands
    adding,
    auditing,
    backtesting,
    database,
    demo,
    doctor,
    files,
    managing,
    projections,
    proving,
    reading,
    searching,
    serving,
    taking_over,
    tokens,
    trying,
    working,
)
from ledger.cli.app import app

__all__ = ["app"]
