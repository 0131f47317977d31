"""How long a promise may take on a machine that has other work, too."""

import os


def within(seconds: float) -> float:
    """Return *seconds*, the time on an idle machine, multiplied by how far this machine is overloaded."""
    waiting, _, _ = os.getloadavg()
    return seconds * max(1.0, waiting / (os.cpu_count() or 1))
