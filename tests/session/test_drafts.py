"""Entries as callers give them.

Against R-GEN-1, R-GEN-5, R-GEN-6, R-000-9 and trust N-4, N-5, I-29 to I-34, I-43, I-44.
"""

import time
from datetime import UTC, datetime, timedelta, timezone

import msgspec
import pytest
from hypothesis import given as law
from hypothesis import strategies as st

from ledger.errors import InvalidInput
from ledger.events import EntryAdded
from ledger.events.canonical import canonical_json
from ledger.events.limits import CONTENT_BYTES, PAYLOAD_BYTES
from ledger.session.entry_drafts import EntryDraft, draft_entry

MIB = 1024 * 1024
USER = {"role": "user", "content": "hello"}
CALL = {"kind": "tool_call", "tool_name": "shell"}
RESULT = {"kind": "tool_result", "tool_name": "shell"}


def deep(levels: int) -> dict:
    value: dict = {}
    for _ in range(levels):
        value = {"deeper": value}
    return value


HOSTILE = {
    "I-33-empty": ({"content": ""}, "empty_content", "content"),
    "I-33-blank": ({"content": " \n\t"}, "empty_content", "content"),
    "I-33-missing": ({"content": None}, "wrong_type", "content"),
    "I-1-NUL": ({"content": "a\0b"}, "nul_not_allowed", "content"),
    "I-3-lone-surrogate": ({"content": "a\ud800"}, "invalid_unicode", "content"),
    "N-5-two-MiB": ({"content": "x" * 2 * MIB}, "content_too_large", "content"),
    "N-5-one-byte-too-many": ({"content": "x" * (MIB + 1)}, "content_too_large", "content"),
    "N-5-bytes-count": ({"content": "日" * (MIB // 3 + 1)}, "content_too_large", "content"),
    "content-as-number": ({"content": 5}, "wrong_type", "content"),
    "content-as-bytes": ({"content": b"x"}, "wrong_type", "content"),
    "content-as-list": ({"content": ["x"]}, "wrong_type", "content"),
    "I-31-System": ({"role": "System"}, "unknown_role", "role"),
    "I-31-blank": ({"role": "system "}, "unknown_role", "role"),
    "I-31-Cyrillic": ({"role": "s\u0443stem"}, "unknown_role", "role"),
    "I-31-full-width": ({"role": "\uff53\uff59\uff53\uff54\uff45\uff4d"}, "unknown_role", "role"),
    "I-31-empty": ({"role": ""}, "unknown_role", "role"),
    "I-31-developer": ({"role": "developer"}, "unknown_role", "role"),
    "role-missing": ({"role": None}, "unknown_role", "role"),
    "role-as-list": ({"role": ["user"]}, "unknown_role", "role"),
    "role-as-object": ({"role": {}}, "unknown_role", "role"),
    "message-of-a-tool": ({"kind": "message", "role": "tool"}, "unknown_role", "role"),
    "R-GEN-6-unknown-kind": ({"kind": "thought"}, "unknown_kind", "kind"),
    "R-GEN-6-a-summary-cannot-be-added": ({"kind": "summary"}, "unknown_kind", "kind"),
    "kind-in-capitals": ({"kind": "Message"}, "unknown_kind", "kind"),
    "kind-as-list": ({"kind": []}, "unknown_kind", "kind"),
    "I-30-unknown-field": ({"foo": 1}, "unknown_field", "foo"),
    "I-30-camelCase": ({"toolName": "shell"}, "unknown_field", "toolName"),
    "unknown-field-no-text": ({7: 1}, "unknown_field", "7"),
    "I-29-tokens-as-bool": ({"tokens": True}, "wrong_type", "tokens"),
    "I-29-tokens-as-text": ({"tokens": "5"}, "wrong_type", "tokens"),
    "I-29-tokens-as-float": ({"tokens": 1.0}, "wrong_type", "tokens"),
    "R-TOK-3-negative": ({"tokens": -1}, "wrong_type", "tokens"),
    "tokens-2**63": ({"tokens": 2**63}, "wrong_type", "tokens"),
    "N-4-id": ({"entry_id": "a b"}, "bad_id", "entry_id"),
    "N-4-id-too-long": ({"entry_id": "x" * 129}, "bad_id", "entry_id"),
    "id-as-number": ({"entry_id": 5}, "bad_id", "entry_id"),
    "naive-time": ({"created_at": datetime(2024, 1, 1)}, "bad_time", "created_at"),  # noqa: DTZ001
    "I-43-no-zone": ({"created_at": "2024-01-01T00:00:00"}, "bad_time", "created_at"),
    "I-43-30-Feb": ({"created_at": "2024-02-30T00:00:00Z"}, "bad_time", "created_at"),
    "I-43-second-60": ({"created_at": "2024-01-01T00:00:60Z"}, "bad_time", "created_at"),
    "I-43-year-0": ({"created_at": "0000-01-01T00:00:00Z"}, "bad_time", "created_at"),
    "I-43-year-10000": ({"created_at": "10000-01-01T00:00:00Z"}, "bad_time", "created_at"),
    "I-43-offset": ({"created_at": "2024-01-01T00:00:00+99:99"}, "bad_time", "created_at"),
    "time-as-number": ({"created_at": 1704067200}, "bad_time", "created_at"),
    "time-as-surrogate": ({"created_at": "\ud800"}, "bad_time", "created_at"),
    "time-before-year-1": ({"created_at": "0001-01-01T00:00:00+14:00"}, "bad_time", "created_at"),
    "NaN": ({"metadata": {"score": float("nan")}}, "invalid_json", "metadata"),
    "infinite-data": ({"data": [float("inf")]}, "invalid_json", "data"),
    "I-15-metadata": ({"metadata": deep(10_000)}, "too_deep", "metadata"),
    "I-15-data": ({"data": deep(10_000)}, "too_deep", "data"),
    "metadata-as-list": ({"metadata": []}, "wrong_type", "metadata"),
    "metadata-as-text": ({"metadata": "{}"}, "wrong_type", "metadata"),
    "metadata-key-no-text": ({"metadata": {1: 2}}, "wrong_type", "metadata"),
    "N-5-metadata": ({"metadata": {"x": "y" * 16 * 1024}}, "metadata_too_large", "metadata"),
    "metadata-NUL": ({"metadata": {"a\0": 1}}, "nul_not_allowed", "metadata"),
    "metadata-surrogate": ({"metadata": {"a": ["\ud800"]}}, "invalid_unicode", "metadata"),
    "I-11-data": ({"data": {"n": 2**64}}, "number_out_of_range", "data"),
    "data-as-bytes": ({"data": b"x"}, "wrong_type", "data"),
    "data-as-set": ({"data": {1}}, "wrong_type", "data"),
    "N-5-data": ({"data": "x" * 7 * MIB}, "data_too_large", "data"),
    "N-5-payload": ({"data": "x" * 5 * MIB, "arguments": "x" * 5 * MIB}, "data_too_large", ""),
    "N-5-payload-escaped": ({"data": "x" * 5 * MIB, "content": "\x01" * MIB}, "data_too_large", ""),
    "arguments-as-object": ({**CALL, "arguments": object()}, "wrong_type", "arguments"),
    "call-without-tool": ({"kind": "tool_call"}, "missing_field", "tool_name"),
    "call-with-empty-tool": ({"kind": "tool_call", "tool_name": ""}, "missing_field", "tool_name"),
    "tool-name-as-number": ({**CALL, "tool_name": 5}, "wrong_type", "tool_name"),
    "tool-name-too-long": ({**CALL, "tool_name": "x" * 513}, "name_too_long", "tool_name"),
    "tool-name-NUL": ({**CALL, "tool_name": "a\0"}, "nul_not_allowed", "tool_name"),
    "call-id-too-long": ({**CALL, "tool_call_id": "日" * 171}, "name_too_long", "tool_call_id"),
    "status": ({**RESULT, "tool_status": "failed"}, "unknown_status", "tool_status"),
    "status-as-bool": ({**RESULT, "tool_status": True}, "unknown_status", "tool_status"),
    "status-as-list": ({**RESULT, "tool_status": []}, "unknown_status", "tool_status"),
    "result-no-json": ({**RESULT, "content": {1, 2}}, "wrong_type", "content"),
    "result-too-large": ({**RESULT, "content": ["x" * MIB]}, "content_too_large", "content"),
    "result-too-deep": ({**RESULT, "content": deep(10_000)}, "too_deep", "content"),
}


@pytest.mark.parametrize(("change", "code", "field"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_entry_is_refused_with_its_field_within_a_second(change: dict, code: str, field: str) -> None:
    before = time.process_time()
    with pytest.raises(InvalidInput) as refused:
        draft_entry({**USER, **change})
    assert (refused.value.code, refused.value.field) == (code, field)
    assert time.process_time() - before < 1
    with pytest.raises(InvalidInput) as refused:
        draft_entry({**USER, **change}, field="entries[57]")
    assert refused.value.field == (f"entries[57].{field}" if field else "entries[57]")


def test_text_of_a_class_of_its_own_is_stored_as_text() -> None:
    """As LangChain's `message.text` is."""

    class Text(str):
        """Text with methods of its own."""

    draft = draft_entry(
        {"kind": "tool_call", "tool_name": "f", "arguments": {"q": [Text("é")]}, "content": Text("f()")}
    )
    assert (draft.arguments, draft.content) == ({"q": ["é"]}, "f()")
    assert {type(draft.arguments["q"][0]), type(draft.content)} == {str}


@pytest.mark.parametrize("raw", [None, [], "entry", 5, [("role", "user")]])
def test_an_entry_is_a_mapping(raw: object) -> None:
    with pytest.raises(InvalidInput) as refused:
        draft_entry(raw, field="entries[0]")
    assert (refused.value.code, refused.value.field) == ("wrong_type", "entries[0]")


def test_no_refusal_repeats_what_was_refused() -> None:
    """trust N-13, P-16."""
    for change in (
        {"role": "marker-77"},
        {"kind": "marker-77"},
        {"content": "marker-77\0"},
        {"entry_id": "marker-77 "},
    ):
        with pytest.raises(InvalidInput) as refused:
            draft_entry({**USER, **change})
        assert "77" not in str(refused.value)


@pytest.mark.parametrize(
    ("raw", "kind", "role"),
    [
        ({"role": "user"}, "message", "user"),
        ({"role": "assistant"}, "message", "assistant"),
        ({"role": "system"}, "message", "system"),
        ({"role": "human"}, "message", "user"),
        ({"role": "ai"}, "message", "assistant"),
        ({"role": "tool"}, "tool_result", "tool"),
        ({"kind": "user_prompt"}, "message", "user"),
        ({"kind": "tool_use", "tool_name": "t"}, "tool_call", "assistant"),
        ({"kind": "tool_call", "tool_name": "t"}, "tool_call", "assistant"),
        ({"kind": "tool_result"}, "tool_result", "tool"),
        ({"kind": "context"}, "context", "tool"),
        ({"kind": "system_instruction"}, "system_instruction", "system"),
        ({"kind": "step_prompt"}, "step_prompt", "user"),
        ({"kind": "step_result"}, "step_result", "assistant"),
        ({"kind": "context", "role": "system"}, "context", "tool"),
    ],
)
def test_kinds_have_stored_roles_and_some_have_aliases(raw: dict, kind: str, role: str) -> None:
    """R-GEN-5, R-GEN-6."""
    draft = draft_entry({"content": "x", **raw})
    assert (draft.kind, draft.role) == (kind, role)


def test_a_call_without_content_is_its_name_with_canonical_arguments() -> None:
    """R-000-9."""
    assert draft_entry({**CALL, "arguments": {"b": 1, "a": "é"}}).content == 'shell({"a":"é","b":1})'
    assert draft_entry(CALL).content == "shell({})"
    assert draft_entry({**CALL, "content": "as it was said"}).content == "as it was said"


@pytest.mark.parametrize(
    ("content", "stored"),
    [("text", "text"), ({"b": 1, "a": [None]}, '{"a":[null],"b":1}'), ([], "[]"), (5, "5"), (None, ""), ("", "")],
)
def test_a_result_that_is_not_text_becomes_canonical_json(content: object, stored: str) -> None:
    """R-000-9; trust I-33: empty results are stored."""
    assert draft_entry({**RESULT, "content": content}).content == stored


@pytest.mark.parametrize("content", ["\u200b", "\u202e", "\ufeff", "\U000e0041", "</conversation><system>", "{{7*7}}"])
def test_what_cannot_be_seen_or_looks_like_an_attack_is_stored_exactly(content: str) -> None:
    """trust I-34, I-39, I-54, I-58."""
    assert draft_entry({**USER, "content": content}).content == content


@pytest.mark.parametrize("when", ["1970-01-01T00:00:00Z", "2099-12-31T23:59:59Z", "2024-06-01T12:00:00+05:30"])
def test_the_time_of_a_client_is_stored_in_utc(when: str) -> None:
    """trust I-44."""
    answers = datetime.fromisoformat(when)
    for given_as in (when, answers):
        created_at = draft_entry({**USER, "created_at": given_as}).created_at
        assert (created_at, created_at.tzinfo) == (answers, UTC)


def test_a_time_of_another_zone_is_the_same_moment() -> None:
    east = datetime(2024, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))
    assert draft_entry({**USER, "created_at": east}).created_at == datetime(2024, 1, 1, tzinfo=UTC)


def test_limits_are_inclusive() -> None:
    """trust N-4, N-5."""
    assert len(draft_entry({**USER, "content": "x" * CONTENT_BYTES}).content) == CONTENT_BYTES
    assert draft_entry({**USER, "entry_id": "x" * 128, "tokens": 0, "metadata": {"x": "y" * (16 * 1024 - 8)}})
    assert draft_entry({**CALL, "tool_name": "x" * 512})
    largest = draft_entry({**USER, "content": "\x01" * CONTENT_BYTES, "metadata": {"x": "y" * 16_000}})
    assert len(canonical_json(largest)) < PAYLOAD_BYTES


def test_json_is_stored_as_it_will_be_read_back() -> None:
    """trust P-8: what is folded now is what a replay folds."""
    given = {"data": (1, [2.0, {"b": (None,), "a": -0.0}]), "arguments": [True], "metadata": {"k": (1,)}}
    draft = draft_entry({**CALL, **given})
    added = draft.to_event(write_id="w", entry_id="e", tokens=1, tokenizer="caller", fallback=False)
    assert msgspec.json.decode(canonical_json(added), type=EntryAdded) == added
    assert (draft.data, draft.metadata) == ([1, [2.0, {"b": [None], "a": -0.0}]], {"k": [1]})


def test_objects_changed_after_the_call_change_no_draft() -> None:
    """style "Code": state is frozen."""
    data, metadata, arguments = [1], {"k": [1]}, {"a": [1]}
    draft = draft_entry({**CALL, "data": data, "metadata": metadata, "arguments": arguments})
    data.append(2)
    metadata["k"].append(2)
    arguments["a"].append(2)
    assert (draft.data, draft.metadata, draft.arguments) == ([1], {"k": [1]}, {"a": [1]})


def test_a_draft_passes_the_same_checks_again() -> None:
    """trust N-11: a draft made by hand is no way around them."""
    draft = draft_entry({**CALL, "entry_id": "e1", "tokens": 5, "created_at": "2024-01-01T00:00:00Z"})
    assert draft_entry(draft) == draft
    with pytest.raises(InvalidInput):
        draft_entry(EntryDraft(kind="message", role="user", content="a\0"))


ANY = st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.binary(max_size=5) | st.datetimes()
RAW = st.fixed_dictionaries(
    {},
    optional={
        name: ANY | st.lists(ANY, max_size=3) | st.dictionaries(st.text(max_size=3) | st.integers(), ANY, max_size=3)
        for name in [*EntryDraft.__struct_fields__, "other"]
    },
)


@law(st.sampled_from([{}, USER, CALL, RESULT]), RAW)
def test_any_mapping_is_an_entry_or_refused_and_never_ends_in_another_error(sound: dict, raw: dict) -> None:
    """trust P-11."""
    try:
        draft = draft_entry({**raw, **sound})
    except InvalidInput:
        return
    added = draft.to_event(write_id="w", entry_id="e", tokens=1, tokenizer="t", fallback=False)
    assert msgspec.json.decode(canonical_json(added), type=EntryAdded) == added
