"""`python -m bench.summaries`: evidence in summaries that no model writes, on the transcripts of the project."""

import sys
from pathlib import Path

import pytest

from bench import summaries

EXAMPLES = Path(__file__).parents[2] / "examples"


def test_quotes_show_more_of_the_evidence_than_the_overview(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    files = [str(EXAMPLES / name) for name in ("support_chat.json", "coding_agent.jsonl")]
    monkeypatch.setattr(sys, "argv", ["", *files, "--name", "own", "--questions", str(EXAMPLES / "questions.jsonl")])
    summaries.main()
    rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in capsys.readouterr().out.splitlines()[2:]]
    shown = {row[2]: float(row[4]) for row in rows}
    whole = {row[2]: float(row[6]) for row in rows}
    assert shown["nothing left out"] == 1
    assert shown["overview alone"] * 2 <= shown["extractive, three tenths"]
    assert shown["overview alone"] < shown["extractive, a tenth"] < shown["extractive, three tenths"]
    assert whole["overview alone"] * 2 <= whole["extractive, three tenths"] <= whole["nothing left out"]
