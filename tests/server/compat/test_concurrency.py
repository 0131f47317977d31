"""The B-list of the HTTP contract: what the server that is replaced loses, and this one does not."""

import asyncio

import httpx
import pytest
from agent_memory_client import MemoryAPIClient
from agent_memory_client.models import ClientMemoryRecord, MemoryMessage, MemoryStrategyConfig, WorkingMemory

from tests.server.conftest import Running
from tests.support.http_client import shown_version
from tests.support.working_memory import a_message, put, texts

pytestmark = pytest.mark.filterwarnings("ignore:get_working_memory is deprecated:DeprecationWarning")


async def appended(client: MemoryAPIClient, session: str, number: int, text: str) -> None:
    message = {"role": "user", "content": text, "id": f"new-{number}"}
    await client.append_messages_to_working_memory(session, [message])


@pytest.mark.sample(4)
@pytest.mark.parametrize("start", ["messages", "empty", "absent"])
@pytest.mark.parametrize("equal", [False, True], ids=["different texts", "equal texts"])
async def test_ten_concurrent_appends_keep_all_ten__B1(
    client: MemoryAPIClient, session: str, start: str, equal: bool
) -> None:
    """http W-54, W-61: through the client's own helper, which reads and writes back."""
    for number in range(3):
        name = f"{session}-{number}"
        if start != "absent":
            await client.put_working_memory(name, WorkingMemory(session_id=name))
        if start == "messages":
            await appended(client, name, 99, "already there")
        await asyncio.gather(*(appended(client, name, each, "same" if equal else f"text {each}") for each in range(10)))
        stored = (await client.get_working_memory(name)).messages
        assert {message.id for message in stored} >= {f"new-{each}" for each in range(10)}
        assert len(stored) == 10 + (start == "messages")


@pytest.mark.slow
@pytest.mark.parametrize("start", ["messages", "empty", "absent"])
async def test_a_hundred_rounds__B1(client: MemoryAPIClient, session: str, start: str) -> None:
    """http W-61."""
    for number in range(100):
        name = f"{session}-{number}"
        if start != "absent":
            await client.put_working_memory(name, WorkingMemory(session_id=name))
        if start == "messages":
            await appended(client, name, 99, "already there")
        await asyncio.gather(*(appended(client, name, each, f"text {each}") for each in range(10)))
        assert len((await client.get_working_memory(name)).messages) == 10 + (start == "messages")


async def test_every_data_and_memory_method_keeps_the_rest__B7(
    client: MemoryAPIClient, api: httpx.Client, session: str
) -> None:
    """http W-59: lifetime, strategy, messages and their times."""
    strategy = MemoryStrategyConfig(strategy="summary", config={"max_summary_length": 300})
    await client.put_working_memory(
        session,
        WorkingMemory(
            session_id=session,
            messages=[MemoryMessage(role="user", content="hello", id="m1")],
            ttl_seconds=3600,
            long_term_memory_strategy=strategy,
            data={"kept": 1},
        ),
    )
    before = api.get(f"/v1/working-memory/{session}").json()
    await client.set_working_memory_data(session, {"a": {"b": 1}}, preserve_existing=True)
    await client.update_working_memory_data(session, {"c": 2}, merge_strategy="merge")
    await client.update_working_memory_data(session, {"a": {"d": 3}}, merge_strategy="deep_merge")
    await client.add_memories_to_working_memory(session, [ClientMemoryRecord(text="likes tea", id="f1")])
    await client.add_memories_to_working_memory(session, [ClientMemoryRecord(text="has a dog", id="f2")])
    after = api.get(f"/v1/working-memory/{session}").json()
    assert after["data"] == {"a": {"b": 1, "d": 3}, "c": 2}
    assert [memory["id"] for memory in after["memories"]] == ["f1", "f2"]
    for name in ("ttl_seconds", "long_term_memory_strategy", "created_at", "messages"):
        assert after[name] == before[name], name
    await client.update_working_memory_data(session, {"only": 1}, merge_strategy="replace")
    assert api.get(f"/v1/working-memory/{session}").json()["data"] == {"only": 1}
    await client.add_memories_to_working_memory(session, [ClientMemoryRecord(text="moved", id="f3")], replace=True)
    assert "f3" in [memory["id"] for memory in api.get(f"/v1/working-memory/{session}").json()["memories"]]


async def test_namespaces_and_users_are_separate_and_colons_mean_nothing__B8(service: Running, namespace: str) -> None:
    """http W-2, W-14."""
    with httpx.Client(base_url=service.url, timeout=30) as api:
        name = f"alice-{namespace[-8:]}"
        api.put("/v1/working-memory/s:1", json={"namespace": name, "messages": [a_message("of the namespace")]})
        api.put("/v1/working-memory/s:1", json={"user_id": name, "messages": [a_message("of the user")]})
        api.put(f"/v1/working-memory/{name}:s:1", json={"messages": [a_message("of neither")]})
        assert texts(api.get("/v1/working-memory/s:1", params={"namespace": name})) == ["of the namespace"]
        assert texts(api.get("/v1/working-memory/s:1", params={"user_id": name})) == ["of the user"]
        assert texts(api.get(f"/v1/working-memory/{name}:s:1")) == ["of neither"]


def test_a_put_of_many_known_messages_and_a_new_one_writes_one_event__B10(
    api: httpx.Client, service: Running, namespace: str, session: str
) -> None:
    """http W-73: two thousand here; the slow run takes all ten thousand."""
    messages = [a_message(f"text {number}", id=f"m{number}") for number in range(2_000)]
    first = put(api, session, messages=messages)
    assert first.status_code == 200, first.text
    version = shown_version(first)
    second = put(api, session, messages=[*messages, a_message("new", id="n")])
    assert shown_version(second) == version + 1
    again = put(api, session, messages=[*messages, a_message("new", id="n")])
    assert again.headers["etag"] == second.headers["etag"], "the same PUT again is no event"


def test_an_etag_guards_a_write(api: httpx.Client, session: str) -> None:
    """http W-9, W-52."""
    path = f"/v1/working-memory/{session}"
    created = api.put(path, json={"messages": [a_message("a", id="a")]}, headers={"If-None-Match": "*"})
    etag = created.headers["etag"]
    assert created.status_code == 200
    assert api.put(path, json={}, headers={"If-None-Match": "*"}).status_code == 412
    assert api.get(path, headers={"If-None-Match": etag}).status_code == 304
    strict = api.put(path, json={"messages": [a_message("b", id="b")]}, headers={"If-Match": etag})
    assert texts(strict) == ["b"]
    stale = api.put(path, json={"messages": []}, headers={"If-Match": etag})
    assert (stale.status_code, texts(api.get(path))) == (412, ["b"])
    assert texts(api.put(path, json={"messages": []}, headers={"If-Match": "*"})) == []
    assert api.put(f"{path}-absent", json={}, headers={"If-Match": "*"}).status_code == 412


def test_a_view_with_messages_left_out_can_be_written_back(api: httpx.Client, session: str) -> None:
    """http W-9, W-55: by its ETag, by its stamp, and by its first message alone."""
    path = f"/v1/working-memory/{session}"
    for proof in ("etag", "stamp", "first"):
        api.put(
            path,
            json={"messages": [a_message(f"text {n}", id=f"m{n}") for n in range(6)]},
            headers={"If-Match": "*"},
        )
        if proof == "etag":
            api.put(path, json={"messages": [a_message(f"text {n}", id=f"m{n}") for n in range(6)]})
        view = api.get(path, params={"recent_messages_limit": 3})
        body = view.json()
        assert (texts(body), "." in view.headers["etag"]) == (["text 3", "text 4", "text 5"], True)
        body["messages"].append(a_message("new", id=f"new-{proof}"))
        headers = {"If-Match": view.headers["etag"]} if proof == "etag" else {}
        if proof == "first":
            body = {"messages": body["messages"]}
        assert api.put(path, json=body, headers=headers).status_code == 200
        assert texts(api.get(path))[:6] == [f"text {n}" for n in range(6)], proof
        assert texts(api.get(path))[-1] == "new"


def test_a_put_can_be_repeated_under_a_key(api: httpx.Client, session: str) -> None:
    """http W-16, trust R-6, I-46."""
    path, key = f"/v1/working-memory/{session}", {"Idempotency-Key": "k1"}
    body = {"messages": [{"role": "user", "content": "no id", "created_at": "2026-01-01T00:00:00Z"}]}
    first = api.put(path, json=body, headers=key)
    api.put(path, json={"messages": [a_message("replaces it", id="x")]})
    again = api.put(path, json=body, headers=key)
    assert (again.status_code, again.headers.get("idempotent-replayed")) == (200, "true")
    assert again.json()["messages"] == first.json()["messages"]
    assert texts(api.get(path)) == ["replaces it"]
    assert api.put(path, json={"messages": []}, headers=key).status_code in {200, 422}
    assert api.put(path, json={"data": {"k": 1}}, headers=key).status_code == 422


def test_a_native_append_vouches_for_what_was_there_at_its_version(api: httpx.Client, session: str) -> None:
    """http W-54: who lists what was appended at a version knew what was there then; without a version, only itself."""
    path, native = f"/v1/working-memory/{session}", f"/v1/sessions/{session}/entries"
    put(api, session, messages=[a_message("a", id="a")])
    blind = {"entries": [{"role": "user", "content": "blind", "entry_id": "n1"}]}
    assert api.post(native, json=blind).status_code == 201
    put(api, session, messages=[a_message("blind", id="n1")])
    assert texts(api.get(path)) == ["a", "blind"]
    version = shown_version(api.get(path))
    seeing = {"entries": [{"role": "user", "content": "seeing", "entry_id": "n2"}], "expected_version": version}
    assert api.post(native, json=seeing).status_code == 201
    put(api, session, messages=[a_message("seeing", id="n2")])
    assert texts(api.get(path)) == ["seeing"]


def test_an_answer_that_the_reader_has_is_304(api: httpx.Client, session: str) -> None:
    """http W-9: on both APIs."""
    put(api, session, messages=[a_message("a", id="a")])
    for path in (f"/v1/working-memory/{session}", f"/v1/sessions/{session}/state", f"/v1/sessions/{session}/stats"):
        etag = api.get(path).headers["etag"]
        same = api.get(path, headers={"If-None-Match": f'"0", {etag}'})
        assert (same.status_code, same.content, same.headers["etag"]) == (304, b"", etag)
    api.patch(f"/v1/sessions/{session}/data", json={"k": 1})
    assert api.get(path, headers={"If-None-Match": etag}).status_code == 200


def test_an_id_that_is_listed_twice_is_refused(api: httpx.Client, session: str) -> None:
    """Only one of the two could be kept."""
    answer = put(api, session, messages=[a_message("first", id="x"), a_message("second", id="x")])
    assert (answer.status_code, answer.json()["detail"][0]["type"]) == (422, "duplicate_id")
    answer = put(api, session, memories=[{"id": "m", "text": "one"}, {"id": "m", "text": "two"}])
    assert answer.status_code == 422
    assert api.get(f"/v1/working-memory/{session}").status_code == 404
