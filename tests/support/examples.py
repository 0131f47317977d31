"""How many examples a law is tried with; seeds are random, and printed when a law fails."""

import os
import secrets
from collections.abc import Sequence
from random import Random
from typing import Final, TypeVar

from hypothesis import HealthCheck, settings

T = TypeVar("T")

_EXAMPLES: Final = 30
#: By TEST_EXAMPLES: ``make test-slow`` tries all that a law asks for, ``make test-quick`` a few.
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
