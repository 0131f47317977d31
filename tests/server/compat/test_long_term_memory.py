"""Long-term memory and the prompt, by the published client: http C20, C21, C22."""

import httpx
import pytest
from agent_memory_client import MemoryAPIClient
from agent_memory_client.exceptions import MemoryNotFoundError
from agent_memory_client.filters import MemoryType, Topics
from agent_memory_client.models import ClientMemoryRecord, ForgetPolicy, MemoryTypeEnum, WorkingMemory

from tests.server.conftest import running
from tests.support.databases import Server
from tests.support.working_memory import a_message, put

pytestmark = pytest.mark.filterwarnings("ignore:get_working_memory is deprecated:DeprecationWarning")

FACTS = [
    ("f1", "Mia lives in Oslo", ["home"], "semantic"),
    ("f2", "Mia bought a red bicycle in May", ["bicycle", "shopping"], "episodic"),
    ("f3", "Mia prefers tea to coffee", ["food"], "semantic"),
]


@pytest.fixture
async def known(client: MemoryAPIClient, namespace: str) -> MemoryAPIClient:
    """A client whose user Mia has three records."""
    await client.create_long_term_memory(
        [
            ClientMemoryRecord(
                id=f"{namespace}-{name}",
                text=text,
                topics=topics,
                memory_type=MemoryTypeEnum(kind),
                user_id="mia",
                namespace=namespace,
            )
            for name, text, topics, kind in FACTS
        ]
    )
    return client


async def test_create_get_edit_delete__C22(known: MemoryAPIClient, namespace: str) -> None:
    """http W-26, W-27."""
    name = f"{namespace}-f1"
    record = await known.get_long_term_memory(name)
    assert (record.text, record.user_id, record.memory_type.value) == ("Mia lives in Oslo", "mia", "semantic")
    assert record.persisted_at is not None
    edited = await known.edit_long_term_memory(name, {"text": "Mia lives in Bergen", "topics": ["home", "sea"]})
    assert (edited.text, edited.topics) == ("Mia lives in Bergen", ["home", "sea"])
    assert edited.memory_hash != record.memory_hash
    assert (await known.delete_long_term_memories([name, "unknown"])).status == "ok, deleted 1 memories"
    with pytest.raises(MemoryNotFoundError):
        await known.get_long_term_memory(name)


async def test_search_by_words_and_filters__C22(known: MemoryAPIClient, namespace: str) -> None:
    """http W-30 … W-34."""
    found = await known.search_long_term_memory("Where is the bicycle?", namespace=here(namespace), limit=2)
    assert (found.memories[0].id, found.total >= 1) == (f"{namespace}-f2", True)
    by_topic = await known.search_long_term_memory(
        "Mia", namespace=here(namespace), topics=Topics(any=["food", "home"])
    )
    assert {memory.id for memory in by_topic.memories} == {f"{namespace}-f1", f"{namespace}-f3"}
    everything = await known.search_long_term_memory(
        "Mia", namespace=here(namespace), topics=Topics(all=["bicycle", "shopping"])
    )
    assert [memory.id for memory in everything.memories] == [f"{namespace}-f2"]
    kinds = await known.search_long_term_memory("Mia", namespace=here(namespace), memory_type=MemoryType(eq="episodic"))
    assert [memory.id for memory in kinds.memories] == [f"{namespace}-f2"]
    nobody = await known.search_long_term_memory("Mia", namespace=here(f"{namespace}-other"))
    assert (nobody.memories, nobody.total) == ([], 0)
    every = known.search_all_long_term_memories("Mia", namespace=here(namespace), batch_size=2)
    pages = [item.id async for item in every]
    assert len(pages) == len(set(pages)) == 3


def here(namespace: str):
    from agent_memory_client.filters import Namespace  # noqa: PLC0415

    return Namespace(eq=namespace)


async def test_forget_dry_and_real__C22(known: MemoryAPIClient, api: httpx.Client, namespace: str) -> None:
    """http W-28: this client leaves dry_run out exactly when it is false."""
    policy = ForgetPolicy(budget=1)
    dry = await known.forget_long_term_memories(policy, namespace=namespace, dry_run=True)
    assert (dry.scanned, dry.deleted, dry.dry_run) == (3, 2, True)
    default = api.post("/v1/long-term-memory/forget", json={"policy": {"budget": 1}})
    assert default.json()["dry_run"] is True
    real = await known.forget_long_term_memories(
        policy, namespace=namespace, dry_run=False, pinned_ids=[f"{namespace}-f1"]
    )
    assert (real.deleted, real.dry_run) == (1, False)
    assert api.post("/v1/long-term-memory/forget", json={}).status_code == 422


async def test_records_with_the_same_content_are_merged__C22(
    client: MemoryAPIClient, api: httpx.Client, namespace: str
) -> None:
    """http W-26, W-28."""
    same = [ClientMemoryRecord(id=f"{namespace}-{n}", text="twice", namespace=namespace, user_id="u") for n in range(3)]
    await client.create_long_term_memory(same, deduplicate=False)
    answer = api.post("/v1/long-term-memory/compact", params={"user_id": "u"})
    assert answer.json() == {"status": "ok, 1 memories remaining after compaction"}


@pytest.mark.parametrize(
    ("path", "body", "status", "says"),
    [
        ("/v1/long-term-memory/", {"memories": [{"text": "no id"}]}, 422, "id"),
        ("/v1/long-term-memory/", {"memories": [{"id": "x", "text": " "}]}, 422, "text"),
        ("/v1/long-term-memory/", {"memories": [{"id": "x", "text": "t", "topics": ["a,b"]}]}, 422, "comma"),
        ("/v1/long-term-memory/", {"memories": 1}, 422, "list"),
        ("/v1/long-term-memory/search", {"limit": 0}, 422, "limit"),
        ("/v1/long-term-memory/search", {"topics": {"like": "x"}}, 422, "topics"),
        ("/v1/long-term-memory/search", {"topics": {"eq": "x", "ne": "y"}}, 422, "topics"),
        (
            "/v1/long-term-memory/search",
            {"text": "x", "search_mode": "keyword", "distance_threshold": 0.5},
            400,
            "distance_threshold is only supported for semantic search mode",
        ),
        ("/v1/memory/prompt", {"query": "x"}, 400, "Either session or long_term_search must be provided"),
        ("/v1/memory/prompt", {"query": "x", "long_term_search": False}, 400, "Either session"),
        ("/v1/memory/prompt", {}, 422, "required"),
    ],
)
def test_invalid_requests_are_refused__C22(api: httpx.Client, path: str, body: dict, status: int, says: str) -> None:
    """http W-4, W-23, W-31, W-33."""
    answer = api.post(path, json=body)
    assert answer.status_code == status, answer.text
    assert says in answer.text


def test_an_edit_without_fields__C22(api: httpx.Client) -> None:
    """http W-27."""
    answer = api.patch("/v1/long-term-memory/unknown", json={"text": "x"})
    assert (answer.status_code, answer.json()) == (404, {"detail": "Memory with ID unknown not found"})
    answer = api.patch("/v1/long-term-memory/unknown", json={"text": None})
    assert (answer.status_code, answer.json()) == (400, {"detail": "No fields provided for update"})


async def test_a_prompt_has_its_parts_in_order__C20(
    known: MemoryAPIClient, api: httpx.Client, namespace: str, session: str
) -> None:
    """http W-23 … W-25."""
    put(
        api,
        session,
        context="They met in May.",
        messages=[a_message("hi"), a_message("hello", role="assistant"), a_message("r", role="tool")],
    )
    prompt = await known.memory_prompt(
        query="Where is the bicycle?",
        session_id=session,
        namespace=namespace,
        long_term_search={"limit": 1, "namespace": {"eq": namespace}},
    )
    answers = [(message["role"], message["content"]["text"]) for message in prompt["messages"]]
    assert answers[0] == ("system", "## A summary of the conversation so far:\nThey met in May.")
    assert answers[1:4] == [("user", "hi"), ("assistant", "hello"), ("assistant", "r")]
    assert answers[4] == (
        "system",
        f"## Long term memories related to the user's query\n - Mia bought a red bicycle in May (ID: {namespace}-f2)",
    )
    assert answers[5] == ("user", "Where is the bicycle?")
    assert [record["id"] for record in prompt["long_term_memories"]] == [f"{namespace}-f2"]
    hydrated = await known.hydrate_memory_prompt("Where is the bicycle?", namespace={"eq": namespace}, limit=1)
    assert "bicycle" in hydrated["messages"][0]["content"]["text"]


async def test_a_missing_session_is_empty_and_no_hits_are_null__C20(client: MemoryAPIClient, namespace: str) -> None:
    """http W-23, W-24."""
    prompt = await client.memory_prompt(
        query="x", session_id="unknown", namespace=namespace, long_term_search={"namespace": {"eq": namespace}}
    )
    answers = [message["content"]["text"] for message in prompt["messages"]]
    assert answers == ["## Long term memories related to the user's query\n No relevant long-term memories found.", "x"]
    assert prompt["long_term_memories"] is None


async def test_the_life_of_a_session_by_every_method__C21(client: MemoryAPIClient, session: str) -> None:
    created, memory = await client.get_or_create_working_memory(session)
    assert (created, memory.messages) == (True, [])
    created, _ = await client.get_or_create_working_memory(session)
    assert created is False
    await client.append_messages_to_working_memory(session, [{"role": "user", "content": "hi"}])
    shown = await client.get_working_memory_tool(session)
    assert shown["message_count"] == 1
    called = await client.resolve_function_call("get_or_create_working_memory", {}, session)
    assert called["success"]
    added = await client.resolve_function_call(
        "lazily_create_long_term_memory", {"text": "likes tea", "memory_type": "semantic"}, session
    )
    assert added["success"], added
    changed = await client.resolve_function_call("update_working_memory_data", {"data": {"k": 1}}, session)
    assert changed["success"], changed
    memory = await client.get_working_memory(session)
    assert (len(memory.messages), len(memory.memories), memory.data) == (1, 1, {"k": 1})
    await client.put_working_memory(session, WorkingMemory(session_id=session, messages=[]))
    assert (await client.delete_working_memory(session)).status == "ok"
    created, _ = await client.get_or_create_working_memory(session)
    assert created is True


async def test_promoting_and_bulk_creating__C21(client: MemoryAPIClient, namespace: str, session: str) -> None:
    memory = ClientMemoryRecord(id=f"{namespace}-p", text="promoted by hand", namespace=namespace)
    await client.add_memories_to_working_memory(session, [memory])
    assert (await client.promote_working_memories_to_long_term(session)).status.startswith("ok")
    assert (await client.get_long_term_memory(f"{namespace}-p")).text == "promoted by hand"
    many = [ClientMemoryRecord(id=f"{namespace}-{n}", text=f"bulk {n}", namespace=namespace) for n in range(5)]
    results = await client.bulk_create_long_term_memories([many[:3], many[3:]], batch_size=2)
    assert all(result.status == "ok" for result in results)
    assert (await client.get_long_term_memory(f"{namespace}-4")).text == "bulk 4"


def test_long_term_memory_can_be_turned_off__W_35(server: Server, shared_database: str) -> None:
    with (
        running(server.target(shared_database), long_term_memory=False) as service,
        httpx.Client(base_url=service.url, timeout=30) as api,
    ):
        off = {"detail": "Long-term memory is disabled"}
        assert api.post("/v1/long-term-memory/search", json={}).json() == off
        assert api.get("/v1/long-term-memory/x").status_code == 400
        answer = api.post("/v1/memory/prompt", json={"query": "x", "long_term_search": True})
        assert (answer.status_code, answer.json()) == (400, off)
        assert api.put("/v1/working-memory/s", json={}).status_code == 200


@pytest.mark.parametrize(
    ("path", "body", "place"),
    [
        ("", {}, ["memories"]),
        ("", {"memories": [{"text": "no id"}]}, ["memories", 0, "id"]),
        ("", {"memories": [{"id": "a", "text": "a"}, {"id": "b"}]}, ["memories", 1, "text"]),
        ("forget", {}, ["policy"]),
    ],
)
def test_a_missing_field_is_said_as_clients_expect_it(
    api: httpx.Client, path: str, body: dict[str, object], place: list[object]
) -> None:
    """http W-4."""
    answer = api.post(f"/v1/long-term-memory/{path}", json=body)
    assert answer.status_code == 422
    assert answer.json()["detail"] == [{"type": "missing", "loc": ["body", *place], "msg": "Field required"}]
    wrong = api.post("/v1/long-term-memory/", json={"memories": 7}).json()["detail"]
    assert [fault["type"] for fault in wrong] == ["wrong_type"]
