"""A transcript that cannot be read completely is refused."""

import json

import pytest

from ledger.errors import ImportRefused
from ledger.importers import documents, read

CALL = {"type": "tool_use", "id": "t1", "name": "look", "input": {}}


@pytest.mark.parametrize(
    "block", [CALL, {"type": "tool_result", "tool_use_id": "t1", "content": "x"}, {"type": "thinking"}]
)
def test_blocks_of_anthropic_messages_are_not_read_as_text(block: object) -> None:
    messages = [{"role": "user", "content": "hello"}, {"role": "assistant", "content": [block]}]
    with pytest.raises(ImportRefused, match="Anthropic"):
        read(documents(json.dumps({"system": "be brief", "messages": messages}).encode()), name="s")
