"""What a caller without the scopes may not do: spend the operator's model key as they like, or speak as the system."""

from collections.abc import Iterator
from typing import Any

import httpx
import jwt
import pytest

from ledger.application.rights import Rights
from ledger.errors import NotPermitted
from ledger.events import EntryEdited
from ledger.events.clock import SystemClock
from ledger.memory import MemoryLedger
from ledger.ports.language_models import SummaryText
from ledger.server.access.callers import SCOPES
from ledger.stores.in_memory import InMemoryStore
from projections.memory_config import config as memory_config
from projections.prompts import SummaryRequest
from tests.server.conftest import Running, running

SECRET = "a shared key of more than 32 bytes"
LINES = {"content-type": "application/jsonl"}


class OperatorsModel:
    """A model with a price; *asked* are its requests."""

    method, model = "llm", "house-model"

    def __init__(self) -> None:
        self.asked: list[SummaryRequest] = []

    async def summarize(self, request: SummaryRequest) -> SummaryText:
        self.asked.append(request)
        return SummaryText("In short: yes.")


@pytest.fixture(scope="module")
def model() -> OperatorsModel:
    return OperatorsModel()


@pytest.fixture(scope="module")
def service(model: OperatorsModel) -> Iterator[Running]:
    """A service with a model, of which callers may also choose another."""
    settings = {"oidc_issuer": "i", "oidc_audience": "a", "oidc_hmac_key": SECRET, "allowed_models": "other-model"}
    with running(InMemoryStore(), auth_mode="oidc", worker=False, **settings) as item:
        item.service.services.compactor.set_summarizer(None, model)  # type: ignore[arg-type]
        yield item


def client(service: Running, *scopes: str, name: str = "ann") -> httpx.Client:
    now = int(SystemClock().now().timestamp())
    claims = {"exp": now + 600, "iat": now, "aud": "a", "iss": "i", "sub": name, "scope": " ".join(scopes)}
    token = jwt.encode({**claims, "memory_ledger_namespaces": ["*"]}, SECRET, "HS256")
    return httpx.Client(base_url=service.url, headers={"authorization": f"Bearer {token}"}, timeout=30)


@pytest.fixture
def writer(service: Running) -> Iterator[httpx.Client]:
    with client(service, "read", "write", "import") as found:
        yield found


@pytest.fixture
def admin(service: Running) -> Iterator[httpx.Client]:
    with client(service, *SCOPES, name="root") as found:
        yield found


def say(api: httpx.Client, session: str, *roles: str) -> None:
    entries = [{"role": role, "content": f"message {number} " * 20} for number, role in enumerate(roles)]
    answer = api.post(f"/v1/sessions/{session}/entries", json={"entries": entries})
    assert answer.status_code == 201, answer.text


def token_threshold(**fields: object) -> dict[str, object]:
    return {"compactions": [{"type": "token_threshold", **fields}]}


CONFIGS: dict[str, dict[str, Any]] = {
    "model": {"summarizer": {"model": "dear-model"}},
    "system prompt": {"summarizer": {"system_prompt": "Write a novel."}},
    "template": {"summarizer": {"user_prompt_template": "Solve this: {content}"}},
    "temperature": {"summarizer": {"temperature": 1.5}},
    "thinking": {"summarizer": {"enable_thinking": True}},
    "prompt of a strategy": token_threshold(prompt="Solve this: {content}"),
    "model of a strategy": {"compactions": [{"type": "progressive", "generation_model": "dear-model"}]},
    "calls": {"compactions": [{"type": "summarizer", "cod_max_loops": 8}]},
    "instructions": {"compactions": [{"type": "summarizer", "instructions": "Solve this."}]},
    "length": {"compactions": [{"type": "summarizer", "summary_target_words": 10_000}]},
}


@pytest.mark.parametrize("kind", CONFIGS)
def test_a_writer_cannot_choose_what_the_operators_model_is_asked(
    writer: httpx.Client, admin: httpx.Client, kind: str
) -> None:
    """trust M-6, I-86."""
    session = f"/v1/sessions/config-{kind.replace(' ', '-')}"
    refused = writer.put(f"{session}/config", json={"config": CONFIGS[kind]})
    assert (refused.status_code, refused.json()["code"]) == (403, "model_settings_not_allowed")
    assert "admin" in refused.json()["detail"]
    assert writer.get(f"{session}/stats").status_code == 404, "nothing was written"
    assert admin.put(f"{session}/config", json={"config": CONFIGS[kind]}).status_code == 200
    assert writer.put(f"{session}/config", json={"config": CONFIGS[kind]}).status_code == 200, "it is so already"


def test_a_writer_may_configure_all_else_and_choose_an_allowed_model(writer: httpx.Client) -> None:
    for number, config in enumerate(
        (
            {"profile": "rolling_interactions"},
            {"profile": "working_memory"},
            token_threshold(max_tokens=100),
            {"summarizer": {"model": "other-model"}},
            {"summarizer": {"model": "house-model"}},
        )
    ):
        answer = writer.put(f"/v1/sessions/allowed-{number}/config", json={"config": config})
        assert answer.status_code == 200, answer.text
    refused = writer.put("/v1/sessions/allowed/config", json={"config": CONFIGS["model"]}).json()["detail"]
    assert "house-model, other-model" in refused
    assert "summarizer.model" in refused


def test_a_writer_cannot_choose_the_model_of_a_compaction(
    writer: httpx.Client, admin: httpx.Client, model: OperatorsModel
) -> None:
    say(writer, "compacted", *["user", "assistant"] * 20)
    before = len(model.asked)
    refused = writer.post("/v1/sessions/compacted/compact", json={"model": "dear-model", "force": True})
    assert (refused.status_code, refused.json()["code"]) == (403, "model_settings_not_allowed")
    assert len(model.asked) == before
    done = writer.post("/v1/sessions/compacted/compact", json={"model": "other-model", "force": True})
    assert done.status_code == 200, done.text
    assert [request.model for request in model.asked[before:]] == ["other-model"]
    say(writer, "compacted", *["user", "assistant"] * 20)
    assert admin.post("/v1/sessions/compacted/compact", json={"model": "dear-model"}).status_code == 200


def test_a_writer_cannot_spend_the_key_with_a_what_if(
    writer: httpx.Client, admin: httpx.Client, model: OperatorsModel
) -> None:
    say(writer, "tried", *["user", "assistant"] * 20)
    config = {**token_threshold(max_tokens=10, min_entries_to_compress=1, recent_window=2), **CONFIGS["system prompt"]}
    body = {"what_if": config, "on_miss": "call"}
    before = len(model.asked)
    refused = writer.post("/v1/sessions/tried/diff", json=body)
    assert (refused.status_code, refused.json()["code"]) == (403, "model_settings_not_allowed")
    assert len(model.asked) == before
    assert writer.post("/v1/sessions/tried/diff", json={**body, "on_miss": "estimate"}).status_code == 200
    assert admin.post("/v1/sessions/tried/diff", json=body).status_code == 200
    assert len(model.asked) > before


def test_a_writer_cannot_set_the_prompt_of_an_extraction(writer: httpx.Client, admin: httpx.Client) -> None:
    custom = {"strategy": "custom", "config": {"custom_prompt": "Solve this: {message}"}}
    body = {"messages": [], "long_term_memory_strategy": custom}
    refused = writer.put("/v1/working-memory/extracted", json=body)
    assert refused.status_code == 403
    assert "admin" in refused.text
    assert writer.put("/v1/working-memory/extracted", json={"messages": []}).status_code == 200
    assert writer.put("/v1/working-memory/extracted", json=body).status_code == 403
    assert admin.put("/v1/working-memory/extracted", json=body).status_code == 200
    back = writer.get("/v1/working-memory/extracted").json()
    assert writer.put("/v1/working-memory/extracted", json=back).status_code == 200, "what is read can be written"
    others = {"messages": [], "long_term_memory_strategy": {"strategy": "preferences", "config": {}}}
    assert writer.put("/v1/working-memory/extracted", json=others).status_code == 200


def test_a_config_of_the_past_does_not_come_back_without_the_scope(writer: httpx.Client, admin: httpx.Client) -> None:
    """trust M-6: what an admin took back stays so."""
    session = "/v1/sessions/past"
    say(admin, "past", "user")
    dear = admin.put(f"{session}/config", json={"config": CONFIGS["model"]}).json()["version"]
    assert writer.post(f"{session}/fork", json={"session_id": "past-now"}).status_code == 201, "it is so now"
    assert admin.put(f"{session}/config", json={"config": {"profile": "rolling_interactions"}}).status_code == 200
    for path, body in (("restore", {"version": dear}), ("fork", {"session_id": "past-fork", "version": dear})):
        refused = writer.post(f"{session}/{path}", json=body)
        assert (refused.status_code, refused.json()["code"]) == (403, "model_settings_not_allowed"), path
    assert writer.post(f"{session}/fork", json={"session_id": "past-fork", "version": 2}).status_code == 201
    assert writer.post(f"{session}/restore", json={"version": 2}).status_code == 200
    assert admin.post(f"{session}/restore", json={"version": dear}).status_code == 200


def test_an_entry_is_restored_over_http(writer: httpx.Client, admin: httpx.Client) -> None:
    """http W-65, trust I-32: an entry of the system by callers who may write one."""
    session = "/v1/sessions/entries-back"
    say(admin, "entries-back", "user", "system")
    first, second = (entry["entry_id"] for entry in admin.get(f"{session}/state").json()["entries"])
    content = admin.get(f"{session}/entries/{first}").json()["content"]
    edited = writer.patch(f"{session}/entries/{first}", json={"content": "changed"})
    conditions = {"If-Match": edited.headers["etag"], "Idempotency-Key": "back"}
    back = writer.post(f"{session}/entries/{first}/restore", json={}, headers=conditions)
    assert (back.status_code, back.json()["version"]) == (200, edited.json()["version"] + 1)
    repeated = writer.post(f"{session}/entries/{first}/restore", json={}, headers=conditions)
    assert (repeated.json(), repeated.headers["idempotent-replayed"]) == (back.json(), "true")
    assert admin.get(f"{session}/entries/{first}").json()["content"] == content
    late = writer.post(f"{session}/entries/{first}/restore", json={}, headers={"If-Match": edited.headers["etag"]})
    assert late.status_code == 412
    again = writer.post(f"{session}/entries/{first}/restore", json={"version": edited.json()["version"]})
    assert again.status_code == 200
    assert admin.get(f"{session}/entries/{first}").json()["content"] == "changed"
    assert writer.delete(f"{session}/entries/{second}").status_code == 200
    refused = writer.post(f"{session}/entries/{second}/restore", json={})
    assert (refused.status_code, refused.json()["code"]) == (403, "role_not_allowed")
    assert admin.post(f"{session}/entries/{second}/restore", json={}).status_code == 200
    assert writer.post(f"{session}/entries/none/restore", json={}).status_code == 404
    assert writer.post("/v1/sessions/nowhere/entries/none/restore", json={}).status_code == 404
    assert writer.get("/v1/sessions/nowhere/stats").status_code == 404


def test_a_writer_cannot_set_the_prompt_of_a_summary_view(writer: httpx.Client, admin: httpx.Client) -> None:
    """trust M-6."""
    view = {"source": "long_term", "group_by": ["user_id"]}
    for more in ({"prompt": "Solve this."}, {"model_name": "dear-model"}):
        refused = writer.post("/v1/summary-views", json={**view, **more})
        assert refused.status_code == 403, more
        assert "admin" in refused.text
        assert admin.post("/v1/summary-views", json={**view, **more}).status_code == 200
    for more in ({}, {"model_name": "house-model"}, {"model_name": "other-model"}):
        assert writer.post("/v1/summary-views", json={**view, **more}).status_code == 200, more


def test_an_imported_file_has_no_more_rights_than_its_importer(writer: httpx.Client, admin: httpx.Client) -> None:
    """trust I-32, I-86, E-12."""
    custom = {"strategy": "custom", "config": {"custom_prompt": "Solve this: {message}"}}
    say(admin, "plain", "user", "assistant")
    say(admin, "spoken", "user", "system")
    assert admin.put("/v1/sessions/dear/config", json={"config": CONFIGS["model"]}).status_code == 200
    assert admin.put("/v1/working-memory/asks", json={"long_term_memory_strategy": custom}).status_code == 200
    codes = {"spoken": "role_not_allowed", "dear": "model_settings_not_allowed", "asks": "model_settings_not_allowed"}
    for name, code in codes.items():
        file = admin.get(f"/v1/sessions/{name}/export").content
        refused = writer.post(f"/v1/sessions/{name}-copy/import", content=file, headers=LINES)
        assert (refused.status_code, refused.json()["code"]) == (403, code)
        assert admin.get(f"/v1/sessions/{name}-copy/stats").status_code == 404, "nothing was written"
        assert admin.post(f"/v1/sessions/{name}-copy/import", content=file, headers=LINES).status_code == 201
        again = writer.post(f"/v1/sessions/{name}-copy/import", content=file, headers=LINES)
        assert again.status_code == 200, "it is there already"
    file = admin.get("/v1/sessions/plain/export").content
    assert writer.post("/v1/sessions/plain-copy/import", content=file, headers=LINES).status_code == 201


def test_an_import_says_who_imported_and_whose_names_are_claimed(
    service: Running, writer: httpx.Client, admin: httpx.Client
) -> None:
    say(admin, "signed", "user", "assistant")
    file = admin.get("/v1/sessions/signed/export").content
    assert writer.post("/v1/sessions/signed-copy/import", content=file, headers=LINES).status_code == 201
    say(writer, "signed-copy", "user")
    logged = writer.get("/v1/sessions/signed-copy/events").json()["events"]
    told = [(event["type"], event["actor"], event["actor_claimed"]) for event in logged]
    assert told == [
        ("session.opened", "ann", False),
        ("entry.added", "root", True),
        ("entry.added", "root", True),
        ("entry.added", "ann", False),
    ]
    original = writer.get("/v1/sessions/signed/events").json()["events"]
    assert {(event["actor"], event["actor_claimed"]) for event in original} == {("root", False)}
    entry_id = logged[1]["payload"]["entry_id"]
    history = writer.get(f"/v1/sessions/signed-copy/entries/{entry_id}").json()["history"]
    assert [(change["actor"], change["actor_claimed"]) for change in history] == [("root", True)]


async def test_a_copy_of_forks_and_records_says_who_imported() -> None:
    """In a file of a namespace each stream has its own origin."""
    source = InMemoryStore()
    async with MemoryLedger.open(store=source, actor="root") as ledger:
        await ledger.add_user_message("one", "first")
        await ledger.fork("one", "two")
        await ledger.add_user_message("two", "second")
        await ledger.long_term.create([{"id": "r", "text": "a fact"}])
        lines = [line async for line in ledger.export_file()]
    async with MemoryLedger.open(store=InMemoryStore(), actor="ann") as ledger:
        await ledger.import_file(lambda: lines)
        await ledger.add_user_message("two", "third")
        page = await ledger.get_log("two")
        assert [(event.type, event.actor, event.actor_claimed) for event in page.events] == [
            ("session.opened", "ann", False),
            ("entry.added", "root", True),
            ("session.opened", "ann", False),
            ("entry.added", "root", True),
            ("entry.added", "ann", False),
        ]
        feed = await ledger.get_feed()
        assert [event.actor for event in feed if event.type == "record.created"] == ["ann"]
        assert {(event.actor, event.actor_claimed) for event in feed} == {("ann", False), ("root", True)}


def test_without_the_rights_of_callers_a_writer_chooses_the_model(
    service: Running, writer: httpx.Client, model: OperatorsModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Negative control: what the tests above refuse would be done."""
    monkeypatch.setattr(Rights, "check_model", lambda self, model, field="": None)
    say(writer, "unguarded", *["user", "assistant"] * 20)
    before = len(model.asked)
    done = writer.post("/v1/sessions/unguarded/compact", json={"model": "dear-model", "force": True})
    assert done.status_code == 200, done.text
    assert [request.model for request in model.asked[before:]] == ["dear-model"]


def test_a_file_cannot_edit_an_entry_into_one_of_the_system__I_32() -> None:
    edited = EntryEdited(
        write_id="w", entry_id="e", entry_version=2, content="x", tokens=1, tokens_before=1, tokenizer="", role="system"
    )
    with pytest.raises(NotPermitted, match="'system'"):
        Rights(system=False, models=frozenset()).check_event(edited, known=memory_config.load({}))
    Rights(system=True, models=frozenset()).check_event(edited, known=memory_config.load({}))
