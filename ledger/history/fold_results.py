"""What the folds make of the golden histories: a stored state is valid as long as this and the fold's version stay.

So a snapshot outlives every release that folds as before, whatever else changed in its code, and none that folds
otherwise. ``fold_results.json`` holds a digest per fold; a test compares it with the code and says how to renew it.
An event type that was added later has a list of digests per fold: no earlier release could fold it, so the first makes
no stored state invalid, and each further one does.
"""

import json
from functools import cache
from hashlib import sha256
from itertools import chain
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).with_name("fold_results.json")


@cache
def fold_digest(name: str, version: int, *folds: str) -> bytes:
    """Return the 32 bytes that tell whether states of the fold *name* at *version* are valid here.

    *folds* are the names of the folds it rests on; without any it is one itself.
    """
    results = json.loads(FILE.read_text())
    added = results.get("added", {}).values()
    digests = [[results[fold], *(later for each in added for later in each[fold][1:])] for fold in folds or (name,)]
    rests_on = " ".join(chain.from_iterable(digests))
    return sha256(f"{name} {version} {rests_on}".encode()).digest()
