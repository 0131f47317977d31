"""What can be done to a fork and to what it shares, and what `verify` must then find. Source: trust P-7, H-16.

Session two is a fork of one at version 3; three is another session of that length:

    position    1  2  3  4  5  6  7  8  9  10
    one         1  2  3  4                 5
    three                   1  2  3
    two                              4  5
"""

from typing import Final

from tests.support.attacks import _COLUMNS, _COUNTER, _DELETE, _EDIT, _HEADS, Attack, _set


def _fork(what: str, stream: str = "two") -> str:
    return f"UPDATE ledger.streams SET {what} WHERE namespace_id = $ns AND stream_id = ${stream};"


_PLAIN: Final = _fork("parent_id = NULL, parent_version = NULL")
_MOVED: Final = _fork("parent_id = $three")

FORKS_DETECTED: Final = [
    *(Attack(f"shared {column}", _set(column, 2), ((1, "one", 2),)) for column in _COLUMNS),
    Attack("fork point payload", _EDIT.format(3), ((1, "one", 3),)),
    Attack("fork point hash", _set("hash = sha256('')", 3), ((1, "one", 3), (1, "one", 4), (1, "two", 4))),
    Attack("fork point item id", _set("item_id = 'another'", 3), ((1, "one", 3),)),
    Attack("fork point payload and hash", _EDIT.format(3), ((1, "one", 4), (1, "two", 4)), (3,)),
    Attack("the parent edited and chained anew", _EDIT.format(2), ((1, "two", 4),), (2, 3, 4, 10), _HEADS),
    Attack("shared event deleted", _DELETE.format(2), ((1, "one", 3), (3, "one", 3))),
    Attack("fork point deleted", _DELETE.format(3), ((1, "one", 4), (3, "one", 4), (1, "two", 4))),
    Attack(
        "parent deleted",
        "DELETE FROM ledger.events WHERE namespace_id = $ns AND stream_id = $one;"
        "DELETE FROM ledger.streams WHERE namespace_id = $ns AND stream_id = $one",
        ((1, "two", 4), (3, "three", 1), (3, None, None)),
    ),
    Attack(
        "parent's head deleted",
        "DELETE FROM ledger.streams WHERE namespace_id = $ns AND stream_id = $one",
        ((2, None, 5),),
    ),
    Attack("forked earlier", _fork("parent_version = 2"), ((1, "two", 4),)),
    Attack("forked later", _fork("parent_version = 4"), ((1, "two", 4),)),
    Attack("another parent", _MOVED, ((1, "two", 4), (2, "two", 4))),
    Attack("another parent, chained anew", _MOVED, ((2, "two", 4),), (8, 9), _HEADS),
    Attack("its own parent", _fork("parent_id = $two"), ((1, "two", 4), (2, "two", 4))),
    Attack("no parent", _PLAIN, ((1, "two", 4),)),
    Attack(
        "no parent, numbered and chained anew",
        _PLAIN + _set("version = 1", 8) + _set("version = 2", 9),
        ((2, "two", 1),),
        (8, 9),
        _HEADS,
    ),
    Attack(
        "a fork without its opening",
        _DELETE.format(8),
        ((1, "two", 5), (3, "two", 5)),
    ),
    Attack("made a fork", _fork("parent_id = $one, parent_version = 2", "three"), ((1, "three", 1),)),
    Attack("a ring", _fork("parent_id = $two, parent_version = 5", "one"), ((1, "one", 1),)),
    Attack("newest of a fork deleted", _DELETE.format(9), ((2, "two", 4), (3, "one", 5))),
    Attack("fork edited", _EDIT.format(9), ((1, "two", 5),)),
]

#: As ever, a rewrite in which everything fits: here of the parent, its fork, and all heads.
FORKS_UNDETECTED: Final = [
    Attack("edited and chained anew with its fork", _EDIT.format(2), (), (2, 3, 4, 10, 8, 9), _HEADS + _COUNTER),
]
