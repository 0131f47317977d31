"""Sizes of images by their first bytes, and what they cost by the published rules. Source: R-TOK-8."""

import pytest

from ledger.session.media import Rule, image_size, image_tokens, measured, tokens_of
from tests.support.carried import IMAGES


@pytest.mark.parametrize("kind", sorted(IMAGES))
@pytest.mark.parametrize("size", [(1, 1), (160, 120), (1092, 1092), (3000, 7)])
def test_width_and_height_are_read_from_the_header(kind: str, size: tuple[int, int]) -> None:
    content = IMAGES[kind](*size)
    assert image_size(content.ljust(40, b"\0")) == size
    for end in range(len(content)):
        cut = image_size(content[:end])
        assert cut is None or cut == size  # a damaged file is of unknown size, never of another


@pytest.mark.parametrize(
    ("width", "height", "rule", "tokens"),
    [
        (200, 200, "anthropic", 54),
        (1000, 1000, "anthropic", 1334),
        (1092, 1092, "anthropic", 1590),
        (3000, 2000, "anthropic", 1600),
        (1024, 1024, "openai", 1024),  # patches; 765 in tiles
        (2048, 4096, "openai", 1536),  # patches; 1,105 in tiles
        (160, 120, "openai", 255),
        (300, 300, "gemini", 258),
        (1000, 700, "gemini", 516),
    ],
)
def test_images_cost_what_the_providers_say(width: int, height: int, rule: Rule, tokens: int) -> None:
    assert image_tokens(width, height, rule) == tokens


def test_low_detail_is_flat() -> None:
    assert tokens_of("4096x8192", "openai", is_low=True) == 85


def test_what_is_no_image_is_measured_by_pages_or_bytes() -> None:
    assert measured(b"%PDF-1.4 /Type /Page /Type/Page /Type /Pages") == "p2"
    assert measured(b"OggS" + bytes(996)) == "a1000"
    assert measured(b"plain") == "5"
    assert [tokens_of(each, "anthropic") for each in ("p2", "a1000", "5")] == [6000, 2, 2]
