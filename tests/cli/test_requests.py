"""``context --format``: the arguments of a request. Source: adapters PM-2."""

from tests.cli.conftest import Cli
from tests.support.importer_samples import SAMPLES


def test_an_imported_conversation_is_printed_as_a_request(cli: Cli) -> None:
    cli("import", str(SAMPLES / "anthropic_object.json"), "--session", "shed")
    printed = cli("context", "shed", "--format", "anthropic").json
    assert printed["system"] == "You keep the tool shed."
    results = [block for block in printed["messages"][2]["content"] if block["type"] == "tool_result"]
    assert [result["tool_use_id"] for result in results] == ["toolu_01", "toolu_02"]
    assert cli.json("context", "shed", "--format", "openai")["openai"]["messages"][0]["role"] == "system"
