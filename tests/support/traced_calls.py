"""Which functions of ours are called, in the order of their first calls."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

from tools.path_pages import ROOT, Function

_PACKAGES = tuple(f"{ROOT / package}/" for package in ("ledger", "projections"))


@contextmanager
def traced() -> Iterator[list[Function]]:
    """Yield the list of the functions that are called inside, each once; all tasks of this thread count."""
    calls: dict[Function, None] = {}
    found: list[Function] = []

    def note(frame: FrameType, event: str, _argument: object) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(_PACKAGES):
            calls.setdefault(Function(code.co_filename[len(str(ROOT)) + 1 :], code.co_qualname))

    before = sys.getprofile()
    sys.setprofile(note)
    try:
        yield found
    finally:
        sys.setprofile(before)
        found += calls
