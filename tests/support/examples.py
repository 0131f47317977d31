"""How many examples a law is tried with; seeds are random, and printed when a law fails."""

import os
import secrets
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from random import Random
from typing import Final, TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")

_EXAMPLES: Final = 30
#: By TEST_EXAMPLES: ``make test-slow`` tries all that a law asks for, ``make test`` and ``make test-quick`` a few.
_AT_MOST: Final = {"all": 1_000_000, "few": 10}.get(os.environ.get("TEST_EXAMPLES", ""), _EXAMPLES)


def up_to(examples: int) -> settings:
    """Return settings with *examples*, or as many as this run tries at most."""
    return settings(max_examples=min(examples, _AT_MOST), deadline=None)


def some(cases: Sequence[T]) -> list[T]:
    """Return all *cases* of a law, or as many as this run tries, chosen by a seed that it prints."""
    most = 10 * _AT_MOST
    if len(cases) <= most:
        return list(cases)
    seed = secrets.randbits(32)
    print(f"seed {seed}")
    return Random(seed).sample(cases, most)


#: With a few examples: the time that random histories of a test may take in all, and how many it tries at least.
_HISTORIES_S: Final = 0.3
_HISTORIES: Final = 10


@contextmanager
def seeds(count: int) -> Iterator[Iterator[int]]:
    """Yield seeds of *count* histories, or of as many as fit into the time of this run, and print which and how many.

    The time is that of this process, so that a machine with other work tries as many.
    """
    start, tried = secrets.randbits(32), 0

    def one_by_one() -> Iterator[int]:
        nonlocal tried
        begun = time.process_time()
        while tried < count and (not _is_short() or tried < _HISTORIES or time.process_time() - begun < _HISTORIES_S):
            tried += 1
            yield start + tried - 1

    try:
        yield one_by_one()
    finally:
        print(f"seeds {start} … {start + tried - 1}: {tried} of {count} histories")


def seeds_to_fail(count: int) -> list[int]:
    """Return seeds for a negative control, which ends at the first that fails, and print the first one."""
    start = secrets.randbits(32)
    print(f"seeds from {start}")
    return list(range(start, start + count))


def _is_short() -> bool:
    return os.environ.get("TEST_EXAMPLES") == "few"


def fewer(examples: int) -> int:
    """Return *examples*, or a quarter of them in a run of few."""
    return examples // 4 if _is_short() else examples


def load_profile() -> None:
    """Make the settings of all laws the default."""
    settings.register_profile(
        "laws",
        up_to(_EXAMPLES),
        print_blob=True,
        derandomize=False,
        suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
    )
    settings.load_profile("laws")
