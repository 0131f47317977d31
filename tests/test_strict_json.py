"""The one parser at all doors against the hostile inputs of trust §9 (trust I-1 to I-17, I-26, I-27)."""

import json
import time
import tracemalloc

import pytest
from hypothesis import given as law
from hypothesis import strategies as st

from ledger.errors import InvalidInput
from ledger.events.canonical import canonical_json
from ledger.events.strict_json import JsonLimits, check_value, parse

MIB = 1024 * 1024

#: Keys; a million of them, each made by a statement of its own, would take a second.
_THOUSAND = b",".join(b'"key#%03d":1' % n for n in range(1_000))

HOSTILE = {
    "I-1": (rb'"a\u0000b"', "nul_not_allowed"),
    "I-2": (rb'{"\u0000":1}', "nul_not_allowed"),
    "I-3": (rb'"\ud800"', "invalid_unicode"),
    "I-3-key": (rb'{"\ud800":1}', "invalid_unicode"),
    "I-4": (rb'"\udc00\ud800"', "invalid_unicode"),
    "I-5-NaN": (b"NaN", "invalid_json"),
    "I-5-Infinity": (b"[Infinity]", "invalid_json"),
    "I-5--Infinity": (b'{"a":-Infinity}', "invalid_json"),
    "I-6": (b"1e400", "number_out_of_range"),
    "I-6-negative": (b"-1e400", "number_out_of_range"),
    "I-7": (b"[" + b",".join([b"1e131071"] * 100) + b"]", "number_out_of_range"),
    "I-8": (b"[" + b",".join([b"1e131071"] * 9000) + b"]", "number_out_of_range"),
    "I-9": (b"1" * 5000, "number_out_of_range"),
    "I-9-fraction": (b"1." + b"1" * 5000, "number_out_of_range"),
    "I-11": (b"18446744073709551616", "number_out_of_range"),
    "I-11-2**63": (b"9223372036854775808", "number_out_of_range"),
    "I-13": (b"1e-20000", "number_out_of_range"),
    "I-14": (b'{"role":"user","role":"system"}', "duplicate_key"),
    "I-14-escaped": (rb'{"role":1,"\u0072ole":2}', "duplicate_key"),
    "I-15-33": (b"[" * 33 + b"]" * 33, "too_deep"),
    "I-15-1100": (b'{"a":' * 1100 + b"1" + b"}" * 1100, "too_deep"),
    "I-15-100000": (b"[" * 100_000, "too_deep"),
    "I-16": (b"{" + b",".join(_THOUSAND.replace(b"#", b"%04d" % n) for n in range(1_000)) + b"}", "too_large"),
    "I-17": (b'"' + b"a" * 50 * MIB + b'"', "too_large"),
    "I-26-UTF-16": ('{"a":1}'.encode("utf-16"), "invalid_encoding"),
    "I-26-BOM": (b'\xef\xbb\xbf{"a":1}', "invalid_encoding"),
    "I-27": (b'"\xff"', "invalid_encoding"),
    "surrogate-in-UTF-8": (b'"\xed\xa0\x80"', "invalid_encoding"),
    "1001-keys": (b"{" + b",".join(b'"%d":1' % n for n in range(1001)) + b"}", "too_many_keys"),
    "100001-values": (b"[" + b",".join([b"1"] * 100_000) + b"]", "too_many_values"),
    "key-of-257-bytes": (b'{"' + b"k" * 257 + b'":1}', "key_too_long"),
    "quotes-that-never-end": (b'"' + rb"\"" * 2 * MIB, "invalid_json"),
    "escapes-outside-strings": (rb"\"" * 2 * MIB, "invalid_json"),
    "closing-brackets": (b"]" * 8 * MIB, "invalid_json"),
    "empty-strings": (b'""' * 4 * MIB, "invalid_json"),
    "blanks": (b" " * 8 * MIB, "invalid_json"),
    "half-a-string": (b'"' + b"a" * (8 * MIB - 1), "invalid_json"),
    "lonely-backslash": (b'"\\', "invalid_json"),
    "nothing": (b"", "invalid_json"),
    "two-values": (b"{}{}", "invalid_json"),
    "trailing-comma": (b"[1,]", "invalid_json"),
    "single-quotes": (b"{'a':1}", "invalid_json"),
    "comment": (b"[1] // one", "invalid_json"),
    "control-character": (b'"a\nb"', "invalid_json"),
    "leading-zero": (b"01", "invalid_json"),
    "plus": (b"+1", "invalid_json"),
    "no-digit-before-the-dot": (b".5", "invalid_json"),
}


@pytest.mark.parametrize(("data", "code"), HOSTILE.values(), ids=HOSTILE)
def test_hostile_json_is_refused_within_a_second(data: bytes, code: str) -> None:
    """trust N-1, N-2, N-7, N-11."""
    before = time.process_time()
    with pytest.raises(InvalidInput) as refused:
        parse(data)
    assert refused.value.code == code
    assert time.process_time() - before < 1


@pytest.mark.parametrize("case", ["I-15-100000", "I-16", "quotes-that-never-end", "closing-brackets"])
def test_what_is_refused_was_never_built(case: str) -> None:
    """trust P-11: the scan comes before any object exists."""
    data, _ = HOSTILE[case]
    tracemalloc.start()
    with pytest.raises(InvalidInput):
        parse(data)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 64 * MIB


def test_the_parser_of_the_standard_library_passes_what_ours_refuses() -> None:
    """Negative control: without our limits these inputs get through, or end in another error than ours."""
    passed = [case for case in ("I-1", "I-3", "I-5-NaN", "I-6", "I-11", "I-13", "I-14") if accepts(HOSTILE[case][0])]
    assert passed == ["I-1", "I-3", "I-5-NaN", "I-6", "I-11", "I-13", "I-14"]


def accepts(data: bytes) -> bool:
    json.loads(data)
    return True


@pytest.mark.parametrize(
    ("data", "value"),
    [
        pytest.param(b"9007199254740993", 2**53 + 1, id="I-10"),
        pytest.param(b"9223372036854775807", 2**63 - 1, id="largest"),
        pytest.param(b"-9223372036854775808", -(2**63), id="smallest"),
        pytest.param(b"1.0", 1.0, id="I-12-1.0"),
        pytest.param(b"1e2", 100.0, id="I-12-1e2"),
        pytest.param(b"0e5", 0.0, id="zero-is-no-underflow"),
        pytest.param(b"5e-324", 5e-324, id="least-double"),
        pytest.param('"日本語 👍"'.encode(), "日本語 👍", id="unicode"),
        pytest.param(rb'"\ud83d\udc4d"', "👍", id="surrogate-pair"),
        pytest.param(b"[" * 32 + b"]" * 32, json.loads("[" * 32 + "]" * 32), id="depth-32"),
        pytest.param(b' {"a" : [1, null, true]}\n', {"a": [1, None, True]}, id="blanks"),
        pytest.param(rb'"[{,\"]}"', '[{,"]}', id="punctuation-in-a-string"),
        pytest.param(rb'["\\", ","]', ["\\", ","], id="backslash-before-a-quote"),
    ],
)
def test_what_is_within_the_limits_keeps_value_and_kind(data: bytes, value: object) -> None:
    """trust I-10, I-12."""
    parsed = parse(data)
    assert (parsed, type(parsed)) == (value, type(value))


def test_minus_zero_keeps_its_sign__I_12() -> None:
    assert str(parse(b"-0.0")) == "-0.0"


def test_limits_are_inclusive() -> None:
    """trust N-2."""
    assert len(parse(b"{" + b",".join(b'"%d":1' % n for n in range(1000)) + b"}")) == 1000
    assert len(parse(b"[" + b",".join([b"1"] * 99_998) + b"]")) == 99_998
    assert parse(b'{"' + b"k" * 256 + b'":1}')
    assert parse(b'"' + b"a" * (8 * MIB - 2) + b'"')


def test_a_limit_of_its_own_is_named_in_the_error() -> None:
    with pytest.raises(InvalidInput) as refused:
        parse(b"[[1]]", JsonLimits(depth=1))
    assert (refused.value.code, refused.value.limit) == ("too_deep", 1)


@law(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_and_never_end_in_another_error(data: bytes) -> None:
    """trust P-11."""
    try:
        value = parse(data)
    except InvalidInput:
        return
    assert value == json.loads(data)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**63 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=20), inner
        )
    ),
    max_leaves=20,
)


@law(JSON)
def test_what_was_written_is_read_back_and_passes_as_an_argument(value: object) -> None:
    """trust N-11: both doors let the same through."""
    assert parse(canonical_json(value)) == value
    assert parse(json.dumps(value).encode()) == value
    check_value(value, field="data")


@law(st.text('[]{},:"\\ a1', max_size=60))
def test_the_scan_counts_no_punctuation_inside_strings(text: str) -> None:
    assert parse(json.dumps({"text": text}).encode()) == {"text": text}


CYCLE: list = []
CYCLE.append(CYCLE)


def deep(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value]
    return value


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ("a\0b", "nul_not_allowed"),
        ({"\0": 1}, "nul_not_allowed"),
        (["\ud800"], "invalid_unicode"),
        ({"\udfff": 1}, "invalid_unicode"),
        (float("nan"), "invalid_json"),
        ([float("inf")], "invalid_json"),
        (2**63, "number_out_of_range"),
        (-(2**63) - 1, "number_out_of_range"),
        (deep(10_000), "too_deep"),
        (CYCLE, "too_deep"),
        ([0] * 100_000, "too_many_values"),
        ({str(n): n for n in range(1001)}, "too_many_keys"),
        ({"k" * 257: 1}, "key_too_long"),
        ({"日" * 86: 1}, "key_too_long"),
        ({1: 2}, "wrong_type"),
        ({None: 2}, "wrong_type"),
        (b"bytes", "wrong_type"),
        ({1, 2}, "wrong_type"),
        (object(), "wrong_type"),
        ([1j], "wrong_type"),
    ],
)
def test_a_value_that_could_not_have_been_parsed_is_refused_with_its_field(value: object, code: str) -> None:
    """trust N-11: library arguments pass the same checks."""
    before = time.process_time()
    with pytest.raises(InvalidInput) as refused:
        check_value(value, field="metadata")
    assert (refused.value.code, refused.value.field) == (code, "metadata")
    assert time.process_time() - before < 1


def test_no_error_repeats_the_refused_value() -> None:
    """trust N-13, P-16."""
    for data, _ in HOSTILE.values():
        with pytest.raises(InvalidInput) as refused:
            parse(data)
        assert len(str(refused.value)) < 120
    with pytest.raises(InvalidInput) as refused:
        parse(b'{"marker-7777":1,"marker-7777":2}')
    assert "7777" not in str(refused.value)
