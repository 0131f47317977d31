"""Bytes that no client of ours would send, as one list for every route that takes JSON. Source: trust §9."""

from typing import Final, NamedTuple

DEEP: Final = 31
ONE_MIB: Final = 1024 * 1024


class Bad(NamedTuple):
    """A rule, the JSON text that breaks it, and the headers it comes with."""

    rule: str
    value: bytes
    headers: dict[str, str] = {}  # noqa: RUF012 - never changed


#: Keys; a million of them, each made by a statement of its own, would take a second.
_THOUSAND: Final = b",".join(b'"#%03d":1' % number for number in range(1_000))

#: Each stands where a value may stand: in an entry's data, in a session's data.
VALUES: Final = [
    Bad("I-1", rb'"a\u0000b"'),
    Bad("I-2", rb'{"\u0000":1}'),
    Bad("I-3", rb'"\ud800"'),
    Bad("I-4", rb'"\udc00\ud800"'),
    *(Bad(f"I-5 {name.decode()}", name) for name in (b"NaN", b"Infinity", b"-Infinity")),
    Bad("I-6", b"1e400"),
    Bad("I-7", b"[" + b",".join([b"1e131071"] * 100) + b"]"),
    Bad("I-8", b"[" + b",".join([b"1e131071"] * 9_000) + b"]"),
    Bad("I-9", b"9" * 5_000),
    Bad("I-11", str(2**64).encode()),
    Bad("I-13", b"1e-20000"),
    Bad("I-14", b'{"a":1,"a":2}'),
    Bad("I-15 33", b"[" * (DEEP + 2) + b"]" * (DEEP + 2)),
    Bad("I-15 1,100", b"[" * 1_100 + b"]" * 1_100),
    Bad("I-15 100,000", b"[" * 100_000),
    Bad(
        "I-16",
        b"{" + b",".join(_THOUSAND.replace(b"#", b"%07d" % number) for number in range(10**6, 10**6 + 1_000)) + b"}",
    ),
    Bad("I-17", b'"' + b"x" * (50 * ONE_MIB) + b'"'),
    Bad("N-2 keys", b"{" + b",".join(b'"k%d":1' % number for number in range(1_001)) + b"}"),
    Bad("N-2 values", b"[" + b",".join([b"1"] * 100_001) + b"]"),
    Bad("N-2 key", b'{"' + b"k" * 257 + b'":1}'),
    Bad("I-25", b"1", {"content-encoding": "gzip"}),
    Bad("I-26 BOM", b"\xef\xbb\xbf1"),
    Bad("I-27", b'"\xff"'),
    Bad("I-28", b"1", {"content-type": "text/plain"}),
]
