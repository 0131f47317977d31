"""What an owner of the database can do to a log, and what `verify` must then find. Source: trust §6, L-1.

The log attacked holds two sessions. Version 1 of each is ``session.opened``, all others are ``entry.added``:

    position    1  2  3  4  5  6  7
    one         1  2        3  4
    two               1  2        3
"""

from typing import Final, NamedTuple

#: Layer, session and version of a finding.
Place = tuple[int, str | None, int | None]


class Attack(NamedTuple):
    """Statements, all that is to be found, which events (by position) are hashed anew, statements after that.

    In statements ``@5`` stands for "is at position 5", ``$ns``, ``$one`` and ``$two`` for ids.
    """

    name: str
    sql: str
    found: tuple[Place, ...]
    rehashed: tuple[int, ...] = ()
    then: str = ""


_EDIT: Final = "UPDATE ledger.events SET content = overlay(content PLACING 'X'::bytea FROM 30) WHERE @{};"
_RESTRUCTURE: Final = "UPDATE ledger.events SET structure = overlay(structure PLACING 'X'::bytea FROM 30) WHERE @{};"
_DELETE: Final = "DELETE FROM ledger.events WHERE @{};"
_SWAP_CONTENTS: Final = """
    UPDATE ledger.events e SET content = o.content FROM ledger.events o
    WHERE e.namespace_id = $ns AND o.namespace_id = $ns AND e.position IN (5, 6) AND o.position = 11 - e.position;
"""
_HEADS: Final = """
    UPDATE ledger.streams s SET version = e.version, head_hash = e.hash FROM (
        SELECT DISTINCT ON (stream_id) * FROM ledger.events WHERE namespace_id = $ns ORDER BY stream_id, version DESC
    ) e WHERE s.namespace_id = $ns AND s.stream_id = e.stream_id;
"""
_COUNTER: Final = """
    UPDATE ledger.namespaces SET last_position = (SELECT max(position) FROM ledger.events WHERE namespace_id = $ns)
    WHERE namespace_id = $ns;
"""
_FORGE: Final = """
    INSERT INTO ledger.events SELECT (jsonb_populate_record(e, jsonb_build_object(
        'position', 8, 'version', 4, 'event_id', gen_random_uuid()
    ))).* FROM ledger.events e WHERE @7;
"""


def _set(what: str, position: int = 5) -> str:
    return f"UPDATE ledger.events SET {what} WHERE @{position};"


def _head(what: str) -> str:
    return f"UPDATE ledger.streams SET {what} WHERE namespace_id = $ns AND stream_id = $one"


def _namespace_id(what: str) -> str:
    return f"UPDATE ledger.namespaces SET {what} WHERE namespace_id = $ns"


def _move(position: int, to: int) -> str:
    return f"UPDATE ledger.events SET position = {to} WHERE @{position};"


def _swap(first: int, other: int) -> str:
    return _move(first, 99) + _move(other, first) + _move(99, other)


#: Every hashed column but those that say where the event stands.
_COLUMNS: Final = (
    "event_id = gen_random_uuid()",
    "type = 'entry.edited'",
    "schema_version = 3",
    "codec = 2",
    "occurred_at = occurred_at + interval '1 microsecond'",
    "recorded_at = recorded_at - interval '1 microsecond'",
    "recorded_at = 'infinity'",
    "actor = 'mallory'",
    "key_id = gen_random_uuid(), key_commitment = sha256('')",
    "content_digest = sha256('')",
)

DETECTED: Final = [
    *(Attack(column, _set(column), ((1, "one", 3),)) for column in _COLUMNS),
    Attack("hash", _set("hash = sha256('')"), ((1, "one", 3), (1, "one", 4))),
    Attack("hash of the newest", _set("hash = sha256('')", 6), ((1, "one", 4), (2, "one", 4))),
    Attack("content", _EDIT.format(5), ((1, "one", 3),)),
    Attack("content and hash", _EDIT.format(5), ((1, "one", 4),), (5,)),
    Attack("content and hash of the newest", _EDIT.format(7), ((2, "two", 3),), (7,)),
    Attack("structure", _RESTRUCTURE.format(5), ((1, "one", 3),)),
    Attack("structure and hash", _RESTRUCTURE.format(5), ((1, "one", 3), (1, "one", 4)), (5,)),
    Attack("content erased without its erasure event", _set("content = NULL"), ((1, "one", 3),)),
    Attack(
        "content taken away with its digest",
        _set("content = NULL, content_digest = NULL, codec = 0"),
        ((1, "one", 3),),
    ),
    Attack("contents swapped", _SWAP_CONTENTS, ((1, "one", 3), (1, "one", 4))),
    Attack("middle event deleted", _DELETE.format(5), ((1, "one", 4), (3, "one", 4))),
    Attack(
        "middle event deleted, chained anew",
        _DELETE.format(5) + _set("version = 3", 6),
        ((3, "one", 3),),
        (6,),
        _HEADS,
    ),
    Attack("newest of a stream deleted", _DELETE.format(6), ((2, "one", 3), (3, "two", 3))),
    Attack("newest of a stream deleted, head fitted", _DELETE.format(6), ((3, "two", 3),), then=_HEADS),
    Attack("tail cut", _DELETE.format(7), ((2, "two", 2), (3, None, None))),
    Attack("tail cut, head fitted", _DELETE.format(7), ((3, None, None),), then=_HEADS),
    Attack("tail cut, counter fitted", _DELETE.format(7), ((2, "two", 2),), then=_COUNTER),
    Attack(
        "stream deleted",
        "DELETE FROM ledger.events WHERE namespace_id = $ns AND stream_id = $two; DELETE FROM ledger.streams"
        " WHERE namespace_id = $ns AND stream_id = $two",
        ((3, "one", 3), (3, None, None)),
    ),
    Attack("positions of one stream swapped", _swap(5, 6), ((1, "one", 4), (1, "one", 3), (2, "one", 3))),
    Attack(
        "positions swapped",
        _swap(2, 4),
        ((1, "two", 2), (1, "two", 1), (1, "one", 2), (1, "two", 3)),
    ),
    Attack("version changed", _set("version = 5", 6), ((1, "one", 5), (2, "one", 5))),
    Attack(
        "position changed",
        _move(7, 9),
        ((1, "two", 3), (3, "two", 3)),
        then=_COUNTER,
    ),
    Attack(
        "moved to another stream",
        _set("stream_id = $two, version = 4", 6),
        ((1, "two", 4), (1, "two", 3), (2, "one", 3)),
    ),
    Attack(
        "moved to another namespace",
        _set("namespace_id = gen_random_uuid()", 6),
        ((2, "one", 3), (3, "two", 3)),
    ),
    Attack("event inserted, badly chained", _FORGE, ((1, "two", 4),), then=_HEADS + _COUNTER),
    Attack("event inserted, well chained, head not fitted", _FORGE, ((2, "two", 4),), (8,), _COUNTER),
    Attack("event inserted, well chained, counter not fitted", _FORGE, ((2, "two", 3), (3, "two", 4)), (8,), _HEADS),
    Attack("event inserted, well chained, nothing fitted", _FORGE, ((3, "two", 4),), (8,)),
    Attack(
        "event id repeated",
        "UPDATE ledger.events e SET event_id = s.event_id FROM ledger.events s"
        " WHERE e.namespace_id = $ns AND e.position = 6 AND s.namespace_id = $ns AND s.position = 5",
        ((1, "one", 4),),
        (6,),
        _HEADS,
    ),
    Attack("item id", _set("item_id = 'another'"), ((1, "one", 3),)),
    Attack("item id removed", _set("item_id = NULL"), ((1, "one", 3),)),
    Attack("item id planted", _set("item_id = 'planted'", 1), ((1, "one", 1),)),
    Attack(
        "head ahead",
        _head("version = version + 1"),
        ((2, "one", 4),),
    ),
    Attack(
        "head forged",
        _head("head_hash = sha256('')"),
        ((2, "one", 4),),
    ),
    Attack(
        "head deleted",
        "DELETE FROM ledger.streams WHERE namespace_id = $ns AND stream_id = $one",
        ((2, None, 4),),
    ),
    Attack(
        "session renamed",
        _head("session_id = 'three'"),
        ((2, "three", None),),
    ),
    Attack(
        "user renamed",
        _head("user_id = 'mallory'"),
        ((2, "one", None),),
    ),
    Attack("counter ahead", _namespace_id("last_position = 8"), ((3, None, None),)),
    Attack(
        "counter behind",
        _namespace_id("last_position = 6"),
        ((2, "two", 2), (3, "two", 3)),
    ),
    Attack(
        "event planted at position 0",
        "ALTER DOMAIN ledger.ordinal DROP CONSTRAINT ordinal_check;"
        + _FORGE.replace("'position', 8, 'version', 4", "'position', 0, 'version', 4"),
        ((3, "two", 4),),
        then="ALTER DOMAIN ledger.ordinal ADD CONSTRAINT ordinal_check CHECK (VALUE > 0) NOT VALID;"
        " UPDATE pg_constraint SET convalidated = true WHERE conname = 'ordinal_check'",
    ),
    Attack(
        "head without events planted",
        "INSERT INTO ledger.streams (namespace_id, stream_id, user_id, session_id) VALUES ($ns, $three, '', 'three')",
        ((2, "three", None),),
    ),
    Attack("namespace renamed", _namespace_id("namespace = 'x'"), ((3, None, None),)),
    Attack(
        "namespace deleted",
        "DELETE FROM ledger.namespaces WHERE namespace_id = $ns",
        tuple((3, None, version) for version in (1, 2, 3, 4)),
    ),
]

#: What a chain cannot show, for everything fits; SECURITY.md says so, and that a kept receipt can (trust A-10, A-17).
UNDETECTED: Final = [
    Attack("edited and chained anew", _EDIT.format(5), (), (5, 6), _HEADS),
    Attack("newest event deleted, head and counter fitted", _DELETE.format(7), (), (), _HEADS + _COUNTER),
    Attack("event inserted, everything fitted", _FORGE, (), (8,), _HEADS + _COUNTER),
]
