"""What each format's own words become."""

from typing import Any

from ledger.formats.importers import Conversation
from ledger.formats.importers.elements.importer import moment
from ledger.formats.importers.elements.steps import EMPTY
from ledger.session.entry_drafts import EntryDraft
from tests.support.importer_samples import CASES, conversations_of


def sample(file: str) -> list[Conversation]:
    (case,) = [case for case in CASES if case.file == file]
    return conversations_of(case.data)


def brief(draft: EntryDraft) -> tuple[Any, ...]:
    return draft.kind, draft.role, draft.tool_call_id, draft.tool_name, draft.content


def test_openai_roles_parts_calls_and_refusals() -> None:
    batches = sample("openai_list.json")[0].batches
    assert [[brief(draft) for draft in batch] for batch in batches] == [
        [("message", "system", None, None, "You help with trains.")],
        [("message", "user", None, None, "When does this train leave?\n[image_url]")],
        [
            ("message", "assistant", None, None, "I look it up, and the weather too."),
            ("tool_call", "assistant", "call_a", "timetable", 'timetable({"train":"RB 12"})'),
            ("tool_call", "assistant", "call_b", "weather", 'weather("not json")'),
        ],
        [("tool_result", "tool", "call_b", "weather", "rain")],
        [("tool_result", "tool", "call_a", "timetable", "9:48")],
        [("message", "assistant", None, None, EMPTY)],
        [("message", "user", None, None, EMPTY)],
        [("message", "assistant", None, None, "It leaves at 9:48.")],
        [("message", "user", None, None, "And tomorrow?")],
        [("tool_call", "assistant", "call_a", "timetable", "timetable({})")],
        [("tool_result", "tool", "call_a", "timetable", "")],
        [("message", "assistant", None, None, "I cannot see tomorrow.")],
    ]


def test_openai_ids_names_and_times_are_metadata_and_the_rest_is_data() -> None:
    batches = sample("openai_list.json")[0].batches
    assert batches[0][0].metadata == {"name": "house-rules", "original_role": "developer"}
    assert batches[1][0].metadata == {"original_id": "msg-1", "original_timestamp": "2024-05-01T09:30:00+02:00"}
    assert str(batches[1][0].created_at) == "2024-05-01 07:30:00+00:00"
    assert batches[1][0].data["content"][1]["image_url"]["detail"] == "low"
    assert batches[2][0].metadata == {"original_timestamp": 1714548601}
    assert batches[2][0].data["created"] == 1714548602
    assert batches[2][1].arguments == {"train": "RB 12"}
    assert batches[2][1].data == {"arguments": '{"train": "RB 12"}'}, "the text differed from canonical JSON"
    assert batches[2][2].data == {"index": 1, "of_function": {"strict": True}}
    assert batches[5][0].data == {"content": "  "}
    assert batches[7][0].data == {"refusal": "No more than that."}


def test_openai_objects_name_their_session_and_store_the_fields_of_the_whole() -> None:
    (found,) = sample("openai_object.json")
    assert found.session_id == "order-2024-05"
    about = found.batches[0][0].data["conversation"]
    assert about["session_id"] == "order/2024 05"
    assert about["model"] == "gpt-4o-2024-11-20"
    assert about["tools"][0]["function"]["name"] == "ping"
    assert [batch[0].role for batch in found.batches] == ["system", "user", "assistant"]


def test_two_conversations_of_one_name_stay_two() -> None:
    found = sample("openai_conversations.jsonl")
    assert [(conversation.session_id, conversation.batches[0][0].content) for conversation in found] == [
        ("a", "Hello from a."),
        ("b", "Hello from b."),
        ("file", "Hello from nobody."),
        ("a-2", "Hello from a again."),
    ]
    ids = [draft.entry_id for conversation in found for batch in conversation.batches for draft in batch]
    assert len(set(ids)) == len(ids)


def test_legacy_functions_are_tools_without_ids() -> None:
    (found,) = sample("openai_legacy.json")
    call, result = found.batches[1][0], found.batches[2][0]
    assert brief(call) == ("tool_call", "assistant", None, "weather", 'weather({"city":"Oslo"})')
    assert brief(result) == ("tool_result", "tool", None, "weather", '{"celsius": 4}')
    assert result.metadata == {"original_role": "function"}


def test_swe_agent_commands_are_calls_of_a_shell_and_what_comes_next_their_results() -> None:
    (found,) = sample("swe_commands.traj")
    assert [[brief(draft)[:4] for draft in batch] for batch in found.batches[3:6]] == [
        [("message", "user", None, None)],
        [("message", "assistant", None, None), ("tool_call", "assistant", "action-4", "shell")],
        [("tool_result", "tool", "action-4", "shell")],
    ]
    assert found.batches[4][1].arguments == {"command": "ls\n"}
    assert found.batches[6][0].data["thought"] == "I think first, and longer."


def test_swe_agent_steps_are_measured_on_the_run_not_on_its_demonstration() -> None:
    (found,) = sample("swe_commands.traj")
    steps = [(draft.content, draft.data) for batch in found.batches for draft in batch if draft.kind == "tool_result"]
    assert steps == [
        ("demonstrated", None),
        ("setup.py", {"step": {"state": '{"working_dir": "/repo"}'}}),
        ("", {"step": {"state": "{}", "execution_time": 0.5, "observation": "diff"}}),
    ]
    assert found.batches[1][0].metadata["is_demo"] is True


def test_swe_agent_native_calls_keep_their_ids_and_fields_absent_from_the_text() -> None:
    (found,) = sample("swe_calls.traj")
    calls = [draft for batch in found.batches for draft in batch if draft.kind == "tool_call"]
    assert [(call.tool_call_id, call.tool_name, call.arguments) for call in calls] == [
        ("call_1", "find_file", {"file_name": "a.py"}),
        ("call_1", "submit", {}),
    ]
    assert found.batches[2][0].data == {"action": "find_file 'a.py'"}
    assert calls[1].data == {"thought": "Now the end.", "action": "submit"}


def test_openhands_actions_are_words_or_calls_and_observations_their_results_or_context() -> None:
    (found,) = sample("openhands_events.jsonl")
    assert [[brief(draft) for draft in batch] for batch in found.batches] == [
        [("message", "system", None, None, "You are an agent.")],
        [("message", "user", None, None, "Fix it.")],
        [("context", "tool", None, None, "Added workspace context")],
        [
            ("message", "assistant", None, None, "I look around."),
            ("tool_call", "assistant", "toolu_01", "execute_bash", 'execute_bash({"command":"ls","is_input":false})'),
        ],
        [("tool_result", "tool", "toolu_01", "execute_bash", "ls: no such folder")],
        [("tool_call", "assistant", "event-5", "read", 'read({"path":"/workspace/a.c"})')],
        [("tool_result", "tool", "event-5", "read", "int main;")],
        [("tool_call", "assistant", "toolu_01", "execute_bash", 'execute_bash({"command":"pwd"})')],
        [("tool_result", "tool", "toolu_01", "execute_bash", "/workspace")],
        [("context", "tool", None, None, EMPTY)],
        [("message", "assistant", None, None, "It is fixed.")],
    ]


def test_openhands_ids_causes_times_and_outcomes_survive() -> None:
    (found,) = sample("openhands_events.jsonl")
    failed, passed = found.batches[4][0], found.batches[8][0]
    assert failed.metadata == {
        "original_id": 4,
        "original_timestamp": "2025-04-30T16:32:58.441272",
        "cause": 3,
        "source_of_event": "agent",
    }
    assert str(failed.created_at) == "2025-04-30 16:32:58.441272+00:00", "without an offset it is taken as UTC"
    assert (failed.tool_status, passed.tool_status, found.batches[6][0].tool_status) == ("error", "ok", None)
    assert found.batches[2][0].metadata["source"] == "recall"


def test_times_are_read_in_both_spellings_and_anything_else_is_none() -> None:
    assert str(moment(1714548601)) == "2024-05-01 07:30:01+00:00"
    assert str(moment("2024-05-01T07:30:01Z")) == "2024-05-01 07:30:01+00:00"
    assert str(moment("2024-05-01T09:30:01+02:00")) == "2024-05-01 07:30:01+00:00"
    years = ("0001-01-01T00:00:00+14:00", "9999-12-31T23:59:59-05:00")  # the year 0 and the year 10000 in UTC
    for odd in (None, "", "yesterday", True, [], {}, -1, 0, 1e300, 1714548601000, *years):
        assert moment(odd) is None


def test_dated_sessions_become_one_session_with_speakers_captions_and_ids_in_metadata() -> None:
    (first, answer, last) = (batch[0] for batch in sample("dated_sessions.jsonl")[0].batches)
    assert [brief(draft)[1] for draft in (first, answer, last)] == ["user", "assistant", "user"]
    assert first.metadata == {
        "name": "Mara",
        "caption": "a shed behind two trees",
        "original_id": "1:1",
        "original_timestamp": "2025-02-03T18:20:00Z",
        "session": "1",
    }
    assert first.data == {
        "conversation": {"conversation": "garden", "topic": "allotments"},
        "session": {"mood": "cold"},
        "likes": 2,
    }
    assert str(answer.created_at) == "2025-02-03 18:20:00+00:00"
    assert str(last.created_at) == "2025-02-17 19:05:00+00:00"
    assert "questions" not in str(first.data)
