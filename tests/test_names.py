"""Names, entry ids and idempotency keys against trust N-3, N-4 and N-10."""

import sys
import unicodedata

import pytest
from hypothesis import given as law
from hypothesis import strategies as st

from ledger.errors import InvalidInput
from ledger.events.ids import Stream
from ledger.events.names import check_entry_id, check_idempotency_key, check_name, is_visible

BARRED = {
    "C0": "\x00\x01\t\n\r\x1f",
    "DEL": "\x7f",
    "C1": "\x80\x85\x9f",
    "separators": "/\\",
    "zero-width": "\u200b\u200c\u200d\u200e\u200f",
    "directions": "\u2028\u2029\u202a\u202e",
    "invisible": "\u2060\u2064\u2066\u2069",
    "byte-order-mark": "\ufeff",
    "specials": "\ufff9\ufffc\ufffd\ufffe\uffff",
    "tags": "\U000e0000\U000e0001\U000e0041\U000e007f",
    "blanks": "\u00a0\u1680\u2000\u200a\u202f\u205f\u3000",
    "surrogates": "\ud800\udbff\udc00\udfff",
}


def refusal(name: object) -> str:
    with pytest.raises(InvalidInput) as refused:
        check_name(name, field="session_id")
    assert refused.value.field == "session_id"
    return refused.value.code


@pytest.mark.parametrize("barred", BARRED.values(), ids=BARRED)
def test_a_name_with_a_barred_character_is_refused_wherever_it_stands(barred: str) -> None:
    """trust N-3."""
    for character in barred:
        for name in (character, f"a{character}", f"{character}a", f"a{character}b"):
            assert refusal(name) == "bad_name", ascii(name)


def test_the_only_white_space_in_a_name_is_the_space() -> None:
    """trust N-3, for each character that this Python knows as white space."""
    for character in map(chr, range(sys.maxunicode + 1)):
        if character.isspace() and character != " ":
            assert refusal(f"a{character}b") == "bad_name", ascii(character)


@pytest.mark.parametrize("name", [".", "..", "", " ", " a", "a ", "../../etc/passwd", "a\u0000", "a\x1fb"])
def test_a_name_that_is_a_path_or_has_blanks_around_is_refused(name: str) -> None:
    """trust N-3, I-36, I-37; U+001F would make two names one (trust R-1)."""
    assert refusal(name) == "bad_name"


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "session 1",
        "...",
        ".a",
        "用户",
        "Ünïcödé",
        "👍",
        "' OR 1=1--",
        '"; DROP TABLE events;--',
        "${jndi:x}",
        "{{7*7}}",
        "%2e%2e%2f",
        "a" * 255,
        "é" * 255,
    ],
)
def test_a_name_within_the_rules_is_taken_as_it_is(name: str) -> None:
    """trust N-3, I-39."""
    assert check_name(name, field="user_id") == name


@pytest.mark.parametrize("name", ["a" * 256, "日" * 171, "👍" * 129, "a" * 60_000], ids=["256", "日", "👍", "I-38"])
def test_a_name_is_bounded_in_characters_and_in_bytes(name: str) -> None:
    """trust N-3, I-38."""
    assert refusal(name) == "bad_name"
    assert check_name(name[: 512 // len(name[0].encode())][:255], field="user_id")


@pytest.mark.parametrize("name", [None, 1, b"a", ["a"], True])
def test_a_name_is_text(name: object) -> None:
    assert refusal(name) == "wrong_type"


def test_a_name_may_be_empty_only_where_this_is_allowed() -> None:
    """trust N-3: the user id."""
    assert check_name("", field="user_id", may_be_empty=True) == ""
    with pytest.raises(InvalidInput):
        check_name(" ", field="user_id", may_be_empty=True)


def test_two_normal_forms_are_two_names__I_35() -> None:
    """trust N-3: compared by code point."""
    forms = [unicodedata.normalize(form, "é") for form in ("NFC", "NFD")]
    streams = {Stream.of("default", check_name(form, field="session_id")).stream_id for form in forms}
    assert len(streams) == 2


@law(st.text(max_size=300))
def test_any_text_is_a_name_or_refused_and_names_make_different_streams(text: str) -> None:
    try:
        name = check_name(text, field="session_id")
    except InvalidInput:
        return
    assert name == text
    assert Stream.of("default", name).stream_id != Stream.of("default", f"{name}x").stream_id


@pytest.mark.parametrize("entry_id", ["a", "A-1.b_c:d", "0", "x" * 128, "01ARZ3NDEKTSV4RRFFQ69G5FAV"])
def test_an_entry_id_within_the_rules_is_taken(entry_id: str) -> None:
    """trust N-4."""
    assert check_entry_id(entry_id) == entry_id


@pytest.mark.parametrize("entry_id", ["", "x" * 129, "a b", "a/b", "a\n", "é", "a\0", 1, None, b"a", "a@b", "\ud800"])
def test_any_other_entry_id_is_refused(entry_id: object) -> None:
    """trust N-4."""
    with pytest.raises(InvalidInput) as refused:
        check_entry_id(entry_id, field="entries[3].id")
    assert (refused.value.code, refused.value.field) == ("bad_id", "entries[3].id")


@pytest.mark.parametrize("key", ["a", "~", "!", "x" * 255, "7b2c-…".replace("…", "f")])
def test_an_idempotency_key_within_the_rules_is_taken(key: str) -> None:
    """trust N-10."""
    assert check_idempotency_key(key) == key


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 256, "é", "a\r\n", "\x7f", "a\n", 1, None, b"a"])
def test_any_other_idempotency_key_is_refused(key: object) -> None:
    """trust N-10, I-48."""
    with pytest.raises(InvalidInput) as refused:
        check_idempotency_key(key)
    assert (refused.value.code, refused.value.field) == ("bad_idempotency_key", "idempotency_key")


def test_a_terminal_gets_only_what_it_shows_as_itself() -> None:
    """trust I-34, I-59."""
    assert all(is_visible(character) for character in "aZ é日👍\n\t")
    hidden = ["\x1b", "\x07", "\r", "\x9b", *BARRED["zero-width"], "\u202e", "\ufeff", "\U000e0041"]
    assert not any(is_visible(character) for character in hidden)
