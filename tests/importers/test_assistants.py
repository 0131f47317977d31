"""Threads of the Assistants API with steps of runs: calls, results and their order. Source: adapters IN-18."""

import json
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.import_files import import_one
from ledger.errors import ImportRefused
from ledger.formats.importers import documents, read
from ledger.formats.importers.elements.steps import Noticed, is_hidden
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

RUN = {"id": "run_1", "object": "thread.run", "thread_id": "thread_1", "created_at": 11, "instructions": "Be short."}


def message(number: int, at: int, role: str, text: str, run: str | None = None) -> dict[str, Any]:
    content = [{"type": "text", "text": {"value": text, "annotations": []}}]
    about = {"id": f"msg_{number}", "object": "thread.message", "thread_id": "thread_1", "run_id": run}
    return {**about, "created_at": at, "role": role, "content": content}


def step(number: int, at: int, *calls: dict[str, Any], creates: str = "", status: str = "completed") -> dict[str, Any]:
    created = {"type": "message_creation", "message_creation": {"message_id": creates}}
    details = created if creates else {"type": "tool_calls", "tool_calls": list(calls)}
    about = {"id": f"step_{number}", "object": "thread.run.step", "thread_id": "thread_1", "run_id": "run_1"}
    usage = {"prompt_tokens": 5, "completion_tokens": 2}
    return {
        **about,
        "created_at": at,
        "type": details["type"],
        "status": status,
        "step_details": details,
        "usage": usage,
    }


def function(own: str, output: str | None) -> dict[str, Any]:
    return {"id": own, "type": "function", "function": {"name": "look", "arguments": '{"at": 1}', "output": output}}


PYTHON = {
    "id": "call_py",
    "type": "code_interpreter",
    "code_interpreter": {
        "input": "print(6 * 7)",
        "outputs": [{"type": "logs", "logs": "42"}, {"type": "image", "image": {"file_id": "file-9"}}],
    },
}
SEARCH = {
    "id": "call_fs",
    "type": "file_search",
    "file_search": {
        "ranking_options": {"ranker": "auto"},
        "results": [
            {
                "file_id": "f1",
                "file_name": "pump.md",
                "score": 0.9,
                "content": [{"type": "text", "text": "Seal: 12 mm"}],
            }
        ],
    },
}
MESSAGES = [
    message(1, 10, "user", "Which seal?"),
    message(2, 12, "assistant", "I look.", "run_1"),
    message(3, 12, "assistant", "The 12 mm one.", "run_1"),
    message(4, 20, "user", "Thanks"),
]
STEPS = [
    step(1, 12, creates="msg_2"),
    step(2, 12, function("call_a", "depot"), function("call_b", "")),
    step(3, 12, PYTHON, SEARCH),
    step(4, 12, creates="msg_3"),
]
WHOLE = [
    ("message", "Which seal?"),
    ("message", "I look."),
    *[("tool_call", 'look({"at":1})')] * 2,
    ("tool_result", "depot"),
    ("tool_result", ""),
    ("tool_call", 'code_interpreter({"input":"print(6 * 7)"})'),
    ("tool_call", 'file_search({"ranking_options":{"ranker":"auto"}})'),
    ("tool_result", "42\n[image]"),
    ("tool_result", "pump.md\nSeal: 12 mm"),
    ("message", "The 12 mm one."),
    ("message", "Thanks"),
]


def page(*found: dict[str, Any]) -> dict[str, Any]:
    return {"object": "list", "data": list(found)[::-1], "has_more": False}


def lines(*values: Any) -> bytes:
    return "\n".join(map(json.dumps, values)).encode()


def shown(data: bytes) -> tuple[list[tuple[str, str]], list[Noticed]]:
    (found,) = read(documents(data), name="file")
    assert (found.format, found.session_id) == ("openai-assistants", "thread_1")
    drafts = [draft for batch in found.batches for draft in batch if not is_hidden(draft)]
    return [(each.kind, each.content) for each in drafts], [each for each in found.steps if isinstance(each, Noticed)]


@pytest.mark.parametrize(
    "data",
    [
        lines(*MESSAGES, RUN, *STEPS),
        lines(*STEPS, *MESSAGES),
        lines([*MESSAGES, *STEPS]),
        lines(page(*MESSAGES), page(RUN), page(*STEPS)),
        lines([page(*STEPS), page(*MESSAGES)]),
        lines({"thread": {"id": "thread_1", "object": "thread"}, "messages": MESSAGES, "runs": [], "steps": STEPS}),
        lines([{"messages": page(*MESSAGES), "run_steps": page(*STEPS), "runs": page(RUN)}]),
        lines({"id": "thread_1", "object": "thread"}, *MESSAGES[:2], *STEPS, *MESSAGES[2:]),
    ],
    ids=["lines", "steps first", "list", "pages", "list of pages", "object", "list of objects", "thread"],
)
def test_the_steps_of_runs_are_calls_and_results_where_they_were_made__IN_18(data: bytes) -> None:
    assert shown(data) == (WHOLE, [])


def test_nothing_of_a_step_is_lost__IN_18() -> None:
    (found,) = read(documents(lines(*MESSAGES, RUN, *STEPS, {"object": "thread", "id": "thread_1"})), name="file")
    held = json.dumps([[draft.data, draft.metadata] for batch in found.batches for draft in batch], default=str)
    for text in ("step_3", "prompt_tokens", "file-9", "0.9", "Be short.", "msg_3", '"thread"'):
        assert text in held


def test_a_call_without_an_output_is_named__IN_20() -> None:
    hidden_results = {"id": "call_x", "type": "file_search", "file_search": {}}
    odd = {"id": "call_y", "type": "telepathy", "telepathy": {"to": "moon"}}
    running = step(9, 12, function("call_a", None), hidden_results, odd, status="expired")
    told, notices = shown(lines(*MESSAGES[:1], running))
    assert [kind for kind, _ in told] == ["message", "tool_call", "tool_call", "message"]
    assert [(each.kind, each.line) for each in notices] == [("call_without_result", 2)] * 2
    (found,) = read(documents(lines(*MESSAGES[:1], running)), name="file")
    notes = [
        draft.metadata["import_note"]
        for batch in found.batches
        for draft in batch
        if "import_note" in (draft.metadata or {})
    ]
    assert [note["text"] for note in notes] == ["parts not understood: telepathy"]


def test_a_message_that_a_step_names_and_the_file_lacks_is_named__IN_20() -> None:
    _, notices = shown(lines(MESSAGES[0], *STEPS[:1]))
    assert [(each.kind, "msg_2" in each.text, each.line) for each in notices] == [("left_out", True, 2)]


@pytest.mark.parametrize("found", [STEPS, [page(*STEPS)], [RUN], [{"id": "thread_1", "object": "thread"}]])
def test_runs_without_the_messages_of_their_thread_are_refused__IN_18(found: list[Any]) -> None:
    with pytest.raises(ImportRefused, match="no messages of the thread") as refusal:
        read(documents(lines(*found)), name="thread_1")
    assert refusal.value.code == "no_messages"


def test_another_object_is_refused_by_its_name__IN_18() -> None:
    with pytest.raises(ImportRefused, match="not an object 'vector_store'"):
        read(documents(lines(MESSAGES[0], {"object": "vector_store", "id": "vs"})), name="file")


async def test_a_file_that_grows_adds_the_rest__IN_15(tmp_path: Path) -> None:
    ledger, path = ledger_over(InMemoryStore()), tmp_path / "thread.jsonl"
    values = [MESSAGES[0], RUN, STEPS[0], MESSAGES[1], *STEPS[1:], *MESSAGES[2:]]
    for end in range(1, len(values) + 1):
        path.write_bytes(lines(*values[:end]))
        done = await import_one(ledger, str(path), None, None, lambda done, total: None)
        assert done.entries, end
        assert not (await import_one(ledger, str(path), None, None, lambda done, total: None)).entries
    entries = await ledger.get_transcript("thread_1")
    assert [(entry.kind, entry.content) for entry in entries] == WHOLE
