"""Ids of other SDKs as names. Source: adapters AD-3."""

import random

import pytest

from ledger.adapters.foreign_names import SEPARATOR, key_of, name_of
from ledger.events.names import check_name


@pytest.mark.parametrize(
    ("key", "name"),
    [
        ("user/42", "~user%2F42"),
        ("~x", "~%7Ex"),
        (" a", "~%20a"),
        ("", "~"),
        ("a b", "a b"),
        ("\ud800", "~%ED%A0%80"),
        ("x" * 200, "x" * 200),
    ],
)
def test_an_id_is_kept_or_encoded__AD_3(key: str, name: str) -> None:
    assert name_of(key) == name
    assert key_of(name) == key


def test_a_long_id_becomes_a_digest() -> None:
    name = name_of("x" * 300)
    assert (name[:10], name[-5:], len(name)) == ("~~0d4e2ca9", "1fbc7", 66)
    assert key_of(name) is None


def test_different_ids_have_different_valid_names(seed: int) -> None:
    dice = random.Random(seed)
    alphabet = "ab~%/# .\0é\ud800" + SEPARATOR
    keys = {"".join(dice.choices(alphabet, k=dice.randrange(12))) for _ in range(2_000)}
    names = {name_of(key, separators=SEPARATOR) for key in keys}
    assert len(names) == len(keys)
    for key in keys:
        name = check_name(name_of(key, separators=SEPARATOR), field="name")
        assert SEPARATOR not in name
        assert key_of(name) == key
