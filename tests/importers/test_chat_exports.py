"""Exports of chat applications: the branch that was shown is the session. Source: adapters IN-19."""

import json
from typing import Any

import pytest

from ledger.errors import ImportRefused
from ledger.formats.importers import IMPORTERS, documents, read
from ledger.formats.importers.elements.steps import NOTE, is_hidden
from tests.support.importer_samples import SAMPLES

SHOWN = {
    "chat_export_chatgpt.json": {
        "picnic": ["Which bread for nine?", 'browser("search(bread)")', "Wheat, 2 kg", "Two loaves of wheat."],
        "picnic~2": ["Which bread for nine?", "Rye."],
    },
    "chat_export_claude.json": {"soup": ["How long does stock boil?\nrecipe.txt:\nsimmer", "Three hours."]},
    "chat_export_open_webui.json": {
        "paint": ["Which primer?", "Acrylic."],
        "paint~2": ["Which primer?", "None at all."],
    },
}


def texts(value: Any) -> dict[str, list[str]]:
    found = read(documents(json.dumps(value).encode()), name="file")
    return {
        one.session_id: [draft.content for batch in one.batches for draft in batch if not is_hidden(draft)]
        for one in found
    }


def sample(name: str) -> Any:
    return json.loads((SAMPLES / name).read_bytes())


@pytest.mark.parametrize("name", SHOWN)
def test_the_branch_that_is_shown_is_the_session__IN_19(name: str) -> None:
    data = (SAMPLES / name).read_bytes()
    assert next(each.name for each in IMPORTERS if each.detects(documents(data))) == "chat-export"
    assert texts(json.loads(data)) == SHOWN[name]
    assert texts(json.loads(data)[0]) == SHOWN[name]


def test_the_blank_message_that_chatgpt_begins_with_is_understood__IN_20() -> None:
    """Only a text is: a blank message of an unknown kind shows less than it says."""
    value = sample("chat_export_chatgpt.json")
    asked = value[0]["mapping"]["u1"]["message"]
    blank: dict[str, Any] = {"author": {"role": "system"}, "status": "finished_successfully"}
    for content_type, notes in (("text", 0), ("hologram", 1)):
        blank["content"] = {"content_type": content_type, "parts": [""]}
        value[0]["mapping"] = {
            "s": {"id": "s", "message": blank, "parent": None},
            "u": {"id": "u", "message": asked, "parent": "s"},
        }
        value[0]["current_node"] = "u"
        steps = [step for one in read(documents(json.dumps(value).encode()), name="file") for step in one.batches]
        found = [draft.metadata or {} for batch in steps for draft in batch]
        assert sum(NOTE in metadata for metadata in found) == notes, content_type
        assert found[0]["hidden"] is True


def test_another_node_may_be_the_current_one__IN_19() -> None:
    value = sample("chat_export_chatgpt.json")
    value[0]["current_node"] = "a1"
    assert list(texts(value)) == ["picnic", "picnic~2"]
    assert texts(value)["picnic"] == SHOWN["chat_export_chatgpt.json"]["picnic~2"]


def test_an_export_that_grew_adds_the_rest_also_if_other_fields_changed__IN_19() -> None:
    """ChatGPT joins branches by a node without a message, and says when a conversation changed last."""
    value = sample("chat_export_chatgpt.json")
    grown = json.loads(json.dumps(value))
    for number, each in enumerate((value, grown)):
        each[0]["update_time"] = 1740000009.0 + number
        each[0]["mapping"]["u1"]["parent"] = "root"
        each[0]["mapping"]["root"] = {"id": "root", "message": None, "parent": None, "children": ["u1"]}
    message = {"id": "u2", "author": {"role": "user"}, "content": {"content_type": "text", "parts": ["And tea?"]}}
    grown[0]["mapping"]["u2"] = {"id": "u2", "message": message, "parent": "a3", "children": []}
    grown[0]["current_node"] = "u2"
    before, after = (read(documents(json.dumps(each).encode()), name="file")[0] for each in (value, grown))
    assert after.batches[: len(before.batches)] == before.batches
    assert [draft.content for draft in after.batches[-1]] == ["And tea?"]


def test_calls_times_and_thoughts_are_kept__IN_19() -> None:
    first, *_ = read(documents((SAMPLES / "chat_export_chatgpt.json").read_bytes()), name="file")
    drafts = [draft for batch in first.batches for draft in batch]
    assert [draft.kind for draft in drafts] == ["message", "tool_call", "tool_result", "message"]
    assert [draft.created_at.timestamp() for draft in drafts if draft.created_at][:2] == [1740000001.5, 1740000006.0]
    (soup,) = read(documents((SAMPLES / "chat_export_claude.json").read_bytes()), name="file")
    thoughts = [draft.content for batch in soup.batches for draft in batch if is_hidden(draft)]
    assert thoughts == ["bones take long"]


@pytest.mark.parametrize("parent", ["a3", "nowhere"])
def test_a_tree_that_is_none_is_refused__IN_19(parent: str) -> None:
    value = sample("chat_export_chatgpt.json")
    value[0]["mapping"]["u1"]["parent"] = parent
    with pytest.raises(ImportRefused, match="shape"):
        texts(value)
