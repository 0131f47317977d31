"""Real and example transcripts through the command: all of them in, once, linked, proved and copied."""

import json
import re
from collections import Counter
from pathlib import Path

import pytest

from ledger.formats.importers.elements.steps import EMPTY
from tests.cli.conftest import Cli
from tests.support.copies import Line, check_copy, said

EXAMPLES = Path(__file__).parents[2] / "examples"


def by_session(export: str) -> dict[str, list[Line]]:
    """Return the events of an export of a whole namespace, apart by session, in their order."""
    lines = [json.loads(line) for line in export.splitlines()]
    names = {head["stream_id"]: head["session_id"] for head in lines[-1]["heads"]}
    found: dict[str, list[Line]] = {name: [] for name in names.values()}
    for line in lines[1:-1]:
        found[names[line["stream_id"]]].append(line)
    return found


@pytest.mark.full
@pytest.mark.data
def test_the_airline_transcripts_go_in_and_out_whole(cli: Cli, data: Path, tmp_path: Path) -> None:
    transcripts = data / "tau_bench" / "gpt-4o-airline.json"
    original = json.loads(transcripts.read_bytes())
    messages = [message for trajectory in original for message in trajectory["traj"]]
    calls = [call for message in messages for call in message.get("tool_calls") or ()]
    assert (len(original), len(messages)) == (200, 5_308)

    done = cli.json("import", str(transcripts))
    assert (done["sessions"], done["skipped"], len(set(done["session_ids"]))) == (200, 0, 200)
    export = cli("export", "--all").out
    events = by_session(export)
    added = {name: [said(each)[1] for each in those if each["type"] == "entry.added"] for name, those in events.items()}
    entries = [entry for those in added.values() for entry in those]
    assert len(entries) == done["entries"]
    assert len({entry["write_id"] for entry in entries}) == 5_308, "a batch is an original message"

    again = cli.json("import", str(transcripts))
    assert (again["entries"], again["skipped"]) == (0, done["entries"])
    assert cli("export", "--all").out == export, "the second import adds nothing"
    report = cli.json("verify")
    assert (report["verdict"], report["checked"]) == ("OK-CHAINED", done["entries"] + 200)

    kinds = Counter(entry["kind"] for entry in entries)
    assert kinds["tool_call"] == len(calls)
    assert kinds["tool_result"] == sum(message["role"] == "tool" for message in messages)
    for those in added.values():
        open_calls: dict[str, str] = {}
        for entry in those:
            if entry["kind"] == "tool_call":
                open_calls[entry["tool_call_id"]] = entry["tool_name"]
            elif entry["kind"] == "tool_result":
                assert open_calls[entry["tool_call_id"]] == entry["tool_name"]
    answers = Counter(message["content"] for message in messages if message["content"] and message["role"] != "tool")
    assert answers == Counter(
        entry["content"] for entry in entries if entry["kind"] == "message" and entry["content"] != EMPTY
    )

    other = cli.elsewhere(f"{cli.namespace}-copy")
    (tmp_path / "all.jsonl").write_text(export)
    taken = other.json("import", "all.jsonl")
    assert (taken["sessions"], taken["entries"], set(taken["session_ids"])) == (200, len(entries), set(events))
    copies = by_session(other("export", "--all").out)
    assert copies.keys() == events.keys()
    for name, those in events.items():
        check_copy(those, copies[name], {"namespace": other.namespace})
    assert other.json("verify")["verdict"] == "OK-CHAINED"
    name = done["session_ids"][7]
    assert other("context", name).out == cli("context", name).out


README = (EXAMPLES / "README.md").read_text()
COUNTS = {
    name: int(count) for name, count in re.findall(r"`(\w+\.jsonl?)`:.*?(\d+) (?:chat )?messages", README, re.DOTALL)
}


@pytest.mark.parametrize("name", ["coding_agent.jsonl", "support_chat.json"])
def test_an_example_has_the_messages_its_readme_counts(cli: Cli, name: str) -> None:
    done = cli.json("import", str(EXAMPLES / name))
    (session,) = done["session_ids"]
    events = cli.json("timeline", session)["events"][1:]
    assert len({event["payload"]["write_id"] for event in events}) == COUNTS[name]
    assert len(events) == done["entries"] >= COUNTS[name]
    assert cli.json("import", str(EXAMPLES / name))["entries"] == 0
    assert cli.json("verify")["verdict"] == "OK-CHAINED"
    results = [event["payload"] for event in events if event["payload"]["kind"] == "tool_result"]
    calls = {event["payload"]["tool_call_id"] for event in events if event["payload"]["kind"] == "tool_call"}
    assert {result["tool_call_id"] for result in results} == calls
    cli("compress", session)
    assert cli.json("stats", session)["summaries"] == 1


def test_a_session_goes_out_and_in_alone(cli: Cli) -> None:
    (session,) = cli.json("import", str(EXAMPLES / "support_chat.json"))["session_ids"]
    cli("compress", session)
    cli("add", session, "One more thing.")
    cli("export", session, "-o", "one.jsonl")
    other = cli.elsewhere(f"{cli.namespace}-copy")
    assert other.json("import", "one.jsonl")["entries"] == 86
    (original,), (copy,) = [by_session(each("export", session).out).values() for each in (cli, other)]
    check_copy(original, copy, {"namespace": other.namespace})
    for version in ("2", "40", "88", str(len(original))):
        assert cli("context", session, "--at", version).out == other("context", session, "--at", version).out


def test_the_readme_names_both_examples() -> None:
    assert COUNTS == {"coding_agent.jsonl": 169, "support_chat.json": 85}
    assert {path.name for path in EXAMPLES.glob("*.json*")} == {*COUNTS, "questions.jsonl"}
