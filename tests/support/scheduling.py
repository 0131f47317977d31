"""Which tests one xdist worker runs one after the other: those of a file, and those of files in one ``xdist_group``.

A group is for what cannot share two cores with its like, such as servers that are killed under load.
"""

import re
from functools import cache
from pathlib import Path

from xdist.scheduler import LoadFileScheduling

ROOT = Path(__file__).parents[2]
_GROUP = re.compile(r'xdist_group\("([^"]+)"\)')


@cache
def scope_of(file: str) -> str:
    """Return the group that *file* names, or else the file itself."""
    found = _GROUP.search((ROOT / file).read_text())
    return f"group {found[1]}" if found else file


class FilesAndGroups(LoadFileScheduling):
    """Distributes files to workers, all files of a group to one of them."""

    def _split_scope(self, nodeid: str) -> str:
        return scope_of(nodeid.partition("::")[0])
