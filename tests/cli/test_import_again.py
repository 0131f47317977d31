"""``import --again``: what an older version read otherwise is read again, and the command says what it did."""

import json
from pathlib import Path

import pytest

from ledger.formats.importers import openai_chat
from tests.cli.conftest import Cli

CHAT = [
    {"role": "user", "parts": [{"type": "text", "text": "Where is it?"}]},
    {"role": "assistant", "content": "In the hall."},
]


def test_a_file_is_read_again__IN_22(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT))
    monkeypatch.setattr(openai_chat, "has_parts", lambda message: False)
    cli("import", str(file))
    monkeypatch.undo()

    refused = cli.try_("import", str(file))
    assert refused.code != 0
    assert "--again" in refused.err
    done = cli.json("import", "--again", str(file))
    assert (done["reread"], done["entries"], done["skipped"]) == (["chat"], 2, 0)
    assert "Where is it?" in cli("context", "chat").out
    assert "[empty message]" in cli("context", "chat", "--at", "3").out
    assert [event["type"] for event in cli.json("timeline", "chat")["events"]][3] == "session.cleared"
    assert "no session is read otherwise" in cli("import", "--again", str(file)).out
    assert cli.json("import", str(file))["reread"] == []


def test_what_cannot_be_read_again_is_refused__IN_22(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "chat.json"
    file.write_text(json.dumps(CHAT))
    cli("import", str(file))
    export = tmp_path / "export.jsonl"
    export.write_text(cli("export", "chat").out)
    for arguments in ([str(tmp_path)], [str(file), "--watch"], [str(export)]):
        ran = cli.try_("import", "--again", *arguments)
        assert ran.code == 2, ran
        assert "--again" in ran.err
