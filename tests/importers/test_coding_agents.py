"""What the logs of coding agents become: answers, agents, compactions, rewinds. Source: adapters IN-4, IN-5, IN-6."""

import json
from typing import Any

import pytest

from ledger.formats.importers import Conversation, TranscriptFile, documents, read
from ledger.formats.importers.elements.steps import Replaced, Rewound, batches_of, is_hidden, line_type_of
from ledger.memory import MemoryLedger
from ledger.stores.in_memory import InMemoryStore
from projections.summaries import Summary
from tests.support.importer_samples import SAMPLES
from tests.support.json_as_text import read_back
from tests.support.ledgers import ledger_over

CLAUDE = "5d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10"
GROWING = (
    "claude_simple.jsonl",
    "claude_tools.jsonl",
    "claude_agents.jsonl",
    "claude_compacted.jsonl",
    "claude_branched.jsonl",
    "codex_simple.jsonl",
    "codex_tools.jsonl",
    "codex_compacted.jsonl",
    "gemini_tools.jsonl",
    "gemini_rewound.jsonl",
)


def sample(name: str) -> list[Conversation]:
    return read(documents((SAMPLES / name).read_bytes()), name="file")


async def taken_in(ledger: MemoryLedger, lines: list[bytes]) -> Any:
    return await ledger.import_conversations(TranscriptFile(lambda: iter(lines), name=CLAUDE))


async def facts(ledger: MemoryLedger) -> dict[str, Any]:
    """Return what each session says, and what its window shows."""
    found = {}
    for session in await ledger.list_sessions():
        window = (await ledger.get_context(session.session_id)).window.items
        history = (await ledger.get_history(session.session_id)).entries
        found[session.session_id] = (
            [(entry.entry_id, entry.content, entry.data) for entry in history],
            [item.text if isinstance(item, Summary) else item.entry_id for item in window],
        )
    return found


async def messages(ledger: MemoryLedger, session: str) -> list[Any]:
    return [(each["role"], each["content"]) for each in (await ledger.get_context(session)).messages]


@pytest.mark.parametrize("name", GROWING)
async def test_a_file_that_grows_line_by_line_becomes_what_it_would_have_at_once__IN_2(name: str) -> None:
    lines = (SAMPLES / name).read_bytes().splitlines(keepends=True)
    at_once, growing = ledger_over(InMemoryStore()), ledger_over(InMemoryStore())
    await taken_in(at_once, lines)
    for number in range(1, len(lines) + 1):
        await taken_in(growing, lines[:number])
    assert await facts(growing) == await facts(at_once)
    assert (await taken_in(growing, lines)).entries == 0
    assert (await growing.verify()).ok


async def test_a_file_with_another_beginning_is_refused_and_adds_nothing() -> None:
    """The control of the test above: what is stored decides, not the name of the session."""
    lines = (SAMPLES / "claude_simple.jsonl").read_bytes().splitlines(keepends=True)
    ledger = ledger_over(InMemoryStore())
    await taken_in(ledger, lines[1:3])
    before = await facts(ledger)
    with pytest.raises(Exception, match="already holds other events"):
        await taken_in(ledger, lines)
    assert await facts(ledger) == before


def test_lines_of_one_answer_are_one_message_with_hidden_thoughts__IN_4() -> None:
    main, agent = sample("claude_agents.jsonl")
    assert (main.session_id, agent.session_id) == (CLAUDE, f"{CLAUDE}#a1b2c3d4")
    answer = main.batches[3]
    assert [(draft.kind, draft.content, is_hidden(draft)) for draft in answer[:2]] == [
        ("message", "Two questions: soil and frost.", True),
        ("message", "I ask an agent.", False),
    ]
    assert [(draft.tool_name, draft.tool_call_id) for draft in answer[2:]] == [
        ("Task", "toolu_11"),
        ("Bash", "toolu_12"),
    ]
    assert answer[0].data == {
        **{key: answer[1].data[key] for key in answer[1].data if key != "thinking"},
        "block": {"signature": "c2lnbmVk"},
    }
    usage = {"input_tokens": 400, "output_tokens": 90, "cache_read_input_tokens": 3000}
    assert answer[3].metadata["usage"] == usage
    assert [draft.entry_id for draft in answer] == [f"00000000-0000-4000-8000-{number:012d}" for number in (2, 3, 4, 5)]
    assert str(answer[0].created_at) == "2026-03-02 09:00:02+00:00"


def test_results_of_parallel_calls_are_no_branches__IN_4() -> None:
    main = sample("claude_agents.jsonl")[0]
    assert not [step for step in main.steps if isinstance(step, Rewound)]
    assert [batch[0].tool_call_id for batch in main.batches if batch[0].kind == "tool_result"] == [
        "toolu_12",
        "toolu_11",
    ]


def test_lines_that_are_no_messages_are_stored_and_named__IN_1() -> None:
    main = sample("claude_agents.jsonl")[0]
    others = [(line_type_of(draft), draft.data) for batch in main.batches for draft in batch if line_type_of(draft)]
    assert [name for name, _ in others] == ["summary", "file-history-snapshot", "system"]
    assert others[1][1]["messageId"].endswith("1")
    assert others[2][1]["durationMs"] == 41000


async def test_a_compaction_leaves_the_summary_and_what_came_after__IN_4() -> None:
    ledger = ledger_over(InMemoryStore())
    done = await taken_in(ledger, (SAMPLES / "claude_compacted.jsonl").read_bytes().splitlines(keepends=True))
    shown = await messages(ledger, CLAUDE)
    assert shown[0][1].endswith("The shed code is 4417; ten bags of compost are ordered.")
    assert [text for _, text in shown[1:]] == ["When do they come?", "On Friday."]
    history = [entry.content for entry in (await ledger.get_history(CLAUDE)).entries]
    assert "Noted: 4417." in history
    assert done.other_lines == {"system": 1}
    before = next(
        event.version for event in await ledger.get_events(CLAUDE) if event.payload.type == "compaction.completed"
    )
    earlier = (await ledger.get_context(CLAUDE, version=before - 1)).messages
    assert [each["content"] for each in earlier][:2] == ["Our shed code is 4417.", "Noted: 4417."]


async def test_a_rewind_leaves_the_old_branch_in_a_fork__IN_4() -> None:
    ledger = ledger_over(InMemoryStore())
    done = await taken_in(ledger, (SAMPLES / "claude_branched.jsonl").read_bytes().splitlines(keepends=True))
    assert done.session_ids == (CLAUDE, f"{CLAUDE}~1")
    assert [text for _, text in await messages(ledger, CLAUDE)][2:] == ["Leeks instead.", "Leeks are planted."]
    assert [text for _, text in await messages(ledger, f"{CLAUDE}~1")][2:] == ["Carrots.", "Carrots are sown."]
    assert "Carrots." in [entry.content for entry in (await ledger.get_history(CLAUDE)).entries]


async def test_a_rewind_of_a_rewind_gives_another_fork__IN_4() -> None:
    lines = [json.loads(line) for line in (SAMPLES / "claude_branched.jsonl").read_text().splitlines()]
    more = {**lines[4], "uuid": lines[4]["uuid"][:-1] + "7", "message": {"role": "user", "content": "Peas, then."}}
    ledger = ledger_over(InMemoryStore())
    await taken_in(ledger, [json.dumps(line).encode() + b"\n" for line in lines])
    done = await taken_in(ledger, [json.dumps(line).encode() + b"\n" for line in [*lines, more]])
    assert (done.entries, done.session_ids[-1]) == (1, f"{CLAUDE}~2")
    assert [text for _, text in await messages(ledger, CLAUDE)][2:] == ["Peas, then."]
    assert [text for _, text in await messages(ledger, f"{CLAUDE}~2")][2:] == ["Leeks instead.", "Leeks are planted."]


def test_the_session_of_a_file_named_by_its_id_has_that_name() -> None:
    """A resumed session's file begins with copied lines of the session before."""
    other = "7d0c2c1e-8a51-4b0e-9d53-0f6f1f4f7a10"
    found = documents((SAMPLES / "claude_simple.jsonl").read_bytes())
    assert [one.session_id for one in read(found, name=f"my-project:{other}")] == [other]


def test_text_that_no_entry_may_have_is_replaced_and_stored_as_it_was() -> None:
    line = json.loads((SAMPLES / "claude_simple.jsonl").read_text().splitlines()[0])
    line["message"]["content"] = "a\0b \ud800 c"
    line["big"] = 2**80
    raw = json.dumps(line).encode() + b"\n"
    ((draft,),) = [batch for found in TranscriptFile(lambda: [raw], name="file") for batch in batches_of(found.steps)]
    assert draft.content == "a␀b � c"
    assert json.loads(draft.data["json"]) == line


def _deep(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = {"in": value}
    return value


@pytest.mark.parametrize(
    "found",
    [
        {"found": {"answers": {"Which of these do you prefer? " * 10: "The first"}}},
        {"found": {"files": {f"garden/{number}.py": 1 for number in range(1_001)}}},
        {"found": _deep(40)},
        {"found": [_deep(400)]},
        {"Which of these do you prefer? " * 10: "The first", "json": 1},
        {f"garden/{number}.py": 1 for number in range(1_001)},
    ],
    ids=["a question as key", "many files as keys", "deep", "deeper", "a question as field", "many files as fields"],
)
def test_an_object_that_no_entry_may_have_is_shown_as_text_and_stored_as_it_was(found: Any) -> None:
    line = {**json.loads((SAMPLES / "claude_simple.jsonl").read_text().splitlines()[0]), **found}
    raw = json.dumps(line).encode() + b"\n"
    ((draft,),) = [batch for one in TranscriptFile(lambda: [raw], name="file") for batch in batches_of(one.steps)]
    assert draft.content == line["message"]["content"]
    assert json.loads(draft.data["json"]) == line


def test_a_line_of_gemini_that_is_as_deep_as_a_line_may_be_is_stored_in_data() -> None:
    about, change = {"sessionId": "s", "projectHash": "p", "extra": _deep(31)}, {"$set": {"extra": _deep(30)}}
    raw = [json.dumps(line).encode() + b"\n" for line in (about, change)]
    ((draft,),) = [batch for one in TranscriptFile(lambda: raw, name="file") for batch in batches_of(one.steps)]
    assert read_back(draft.data["record"]) == change
    assert read_back(draft.data["conversation"]) == about


def test_a_chat_that_is_one_document_is_read_with_text_that_no_entry_may_have() -> None:
    chat = json.loads((SAMPLES / "gemini_simple.json").read_text())
    chat["messages"][0]["content"] = "a\0b"
    raw = json.dumps(chat, indent=2).encode().splitlines(keepends=True)
    (found,) = [list(batches_of(one.steps)) for one in TranscriptFile(lambda: raw, name="file")]
    assert found[0][0].content == "a␀b"
    assert json.loads(found[0][0].data["conversation"]["json"]) == chat


@pytest.mark.parametrize("number", [b"9" * 5_000, b"1e400"])
@pytest.mark.parametrize("at", [0, 1])
def test_a_number_that_python_does_not_convert_is_stored_as_it_was(number: bytes, at: int) -> None:
    lines = (SAMPLES / "claude_simple.jsonl").read_bytes().splitlines()[:2]
    lines[at] = lines[at][:-1] + b', "big": ' + number + b"}"
    source = [line + b"\n" for line in lines]
    found = [batch for each in TranscriptFile(lambda: source, name="file") for batch in batches_of(each.steps)]
    assert [batch[0].data["json"] for batch in found if "json" in (batch[0].data or {})] == [lines[at].decode()]


def test_a_text_over_the_limit_is_cut_and_stored_whole() -> None:
    line = json.loads((SAMPLES / "claude_simple.jsonl").read_text().splitlines()[0])
    line["message"]["content"] = "x" * 1_100_000
    ((draft,),) = read(documents(json.dumps(line).encode()), name="file")[0].batches
    assert len(draft.content) < 200_000
    assert draft.data["text"] == line["message"]["content"]


def test_a_line_that_is_repeated_is_hidden_and_counted() -> None:
    lines = (SAMPLES / "claude_simple.jsonl").read_bytes().splitlines(keepends=True)
    batches = read(documents(b"".join([*lines, lines[0]])), name="file")[0].batches
    assert line_type_of(batches[-1][0]) == "repeated user"
    assert batches[-1][0].entry_id != batches[0][0].entry_id


def test_codex_items_calls_and_what_is_around_them__IN_5() -> None:
    (found,) = sample("codex_tools.jsonl")
    shown = [draft for batch in found.batches for draft in batch if not is_hidden(draft)]
    assert [(draft.kind, draft.role, draft.tool_call_id, draft.tool_name) for draft in shown] == [
        ("message", "system", None, None),
        ("message", "user", None, None),
        ("tool_call", "assistant", "call_1", "shell"),
        ("tool_result", "tool", "call_1", "shell"),
        ("tool_call", "assistant", "call_2", "apply_patch"),
        ("tool_result", "tool", "call_2", "apply_patch"),
        ("message", "assistant", None, None),
        ("message", "assistant", None, None),
    ]
    assert shown[2].arguments == {"command": ["ls", "shed"]}
    assert shown[1].metadata["model"] == "gpt-5.1-codex"
    by_type = {line_type_of(draft): draft for batch in found.batches for draft in batch}
    assert by_type["event_msg/token_count"].metadata["usage"]["total_token_usage"]["total_tokens"] == 960
    assert by_type["world_state"].data == {"payload": {"files": ["shed/rake"]}}
    assert by_type["session_meta"].data["payload"]["cli_version"] == "0.80.0"


def test_a_codex_compaction_is_followed_by_its_history__IN_5() -> None:
    """It was a summary before: the model gets the items, and not the message."""
    (found,) = sample("codex_compacted.jsonl")
    place = next(at for at, step in enumerate(found.steps) if isinstance(step, Replaced))
    after = found.steps[place + 1]
    assert isinstance(after, tuple)
    assert [(draft.role, draft.content) for draft in after[1:]] == [("user", "The gate code is 90-12.")]
    assert after[0].data["payload"]["replacement_history"][0]["role"] == "user"


def test_gemini_messages_calls_and_thoughts__IN_6() -> None:
    (found,) = sample("gemini_tools.jsonl")
    drafts = [draft for batch in found.batches for draft in batch]
    shown = [(draft.kind, draft.content, draft.tool_status) for draft in drafts if not is_hidden(draft)]
    assert shown == [
        ("message", "What is in this folder?", None),
        ("message", "I look.", None),
        ("tool_call", 'list_directory({"path":"."})', None),
        ("tool_result", "seeds\nshed", "ok"),
        ("message", "Seeds and a shed.", None),
    ]
    thought = next(draft for draft in drafts if draft.content.startswith("Folder"))
    assert (is_hidden(thought), line_type_of(thought)) == (True, None)
    updated = next(draft for draft in drafts if line_type_of(draft) == "updated message")
    assert updated.data["record"]["tokens"]["total"] == 552
    assert [line_type_of(draft) for draft in drafts if line_type_of(draft)] == ["$set", "updated message", "info"]


async def test_a_gemini_rewind_removes_and_keeps_the_history__IN_6() -> None:
    ledger = ledger_over(InMemoryStore())
    lines = (SAMPLES / "gemini_rewound.jsonl").read_bytes().splitlines(keepends=True)
    (session,) = (await taken_in(ledger, lines)).session_ids
    assert [text for _, text in await messages(ledger, session)] == [
        "Name a root vegetable.",
        "Carrot.",
        "Name a leaf vegetable.",
        "Chard.",
    ]
    assert "Beetroot." in [entry.content for entry in (await ledger.get_history(session)).entries]
