"""Random requests, valid and not, made from the OpenAPI of the working-memory API and from what its client sends.

Whatever comes: no fault of ours, no status that is not documented, no answer of another shape (trust P-11).
"""

import secrets
from typing import Any, Final

import httpx
import pytest
from agent_memory_client.models import ClientMemoryRecord, MemoryMessage, MemoryStrategyConfig, WorkingMemory
from fastapi import FastAPI
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode, openapi
from schemathesis.schemas import APIOperation

from ledger.server import compat
from tests.server.conftest import Running
from tests.server.test_schemathesis_native import CHECKS, labels
from tests.support.examples import fewer

pytestmark = pytest.mark.postgres

#: Bodies as the published client makes them.
PUT: Final = WorkingMemory(
    session_id="s",
    messages=[MemoryMessage(role="user", content="hello", id="m-1"), MemoryMessage(role="tool", content="{}")],
    memories=[ClientMemoryRecord(text="likes tea", id="f-1", topics=["tea"])],
    data={"step": 1},
    ttl_seconds=3600,
    long_term_memory_strategy=MemoryStrategyConfig(strategy="summary", config={"max_summary_length": 300}),
).model_dump(mode="json", exclude_none=True)
RECORD: Final = ClientMemoryRecord(text="has a dog", id="r-1", entities=["dog"]).model_dump(
    mode="json", exclude_none=True
)
SEARCH: Final = {"text": "dog", "limit": 5, "topics": {"any": ["tea"]}, "memory_type": {"eq": "semantic"}}
SENT: Final[dict[str, list[Any]]] = {
    "PUT /v1/working-memory/{session_id}": [PUT, {}, {"messages": []}, {**PUT, "memories": []}],
    "POST /v1/long-term-memory/": [{"memories": [RECORD]}, {"memories": []}],
    "POST /v1/long-term-memory/search": [SEARCH, {"text": "tea"}, {"text": "", "offset": 1}],
    "PATCH /v1/long-term-memory/{memory_id}": [{"text": "has two dogs"}, {"pinned": True}, {}],
    "POST /v1/memory/prompt": [{"query": "dogs?", "session": {"session_id": "s"}, "long_term_search": SEARCH}],
    "POST /v1/long-term-memory/forget": [{"policy": {"max_age_days": 30}}],
}


def document() -> dict[str, Any]:
    app = FastAPI(title="compat", version="1")
    app.include_router(compat.router)
    return app.openapi()


def operations(document: dict[str, Any]) -> dict[str, APIOperation]:
    """Return what is served by its label; routes of a later stage say 501 and nothing else (http §2.4)."""
    found = [get_all_operation.ok() for get_all_operation in openapi.from_dict(document).get_all_operations()]
    served = [result for result in found if "501" not in document["paths"][result.path][result.method]["responses"]]
    return {result.label: result for result in served}


LABELS: Final = labels(compat.router)


@pytest.fixture(scope="module")
def documented() -> dict[str, APIOperation]:
    return operations(document())


def fuzz(service: Running, operation: APIOperation, examples: int, *, random: bool = False) -> set[int]:
    """Send *examples* requests, half of them about what is there; return the statuses that came."""
    namespace, came = f"fuzz-{secrets.token_hex(4)}", set()
    either = operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
    bodies = SENT.get(operation.label, [])

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=not random,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(either, st.booleans(), st.sampled_from([None, *bodies]))
    def ask(case: Any, there: bool, body: Any) -> None:
        if there:
            case.query = {**(case.query or {}), "namespace": namespace}
            known = {"session_id": "s", "memory_id": "r-1"}
            case.path_parameters = {
                name: known.get(name, value) for name, value in (case.path_parameters or {}).items()
            }
        if body is not None:
            case.body = {**body, "namespace": namespace} if there else body
            case.media_type = "application/json"
        answer = case.call(base_url=service.url)
        came.add(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    with httpx.Client(base_url=service.url, timeout=30, params={"namespace": namespace}) as client:
        assert client.put("/v1/working-memory/s", json=PUT).status_code == 200
        assert client.post("/v1/long-term-memory/", json={"memories": [RECORD]}).status_code == 200
        ask()
    return came


@pytest.mark.sample(7)
@pytest.mark.parametrize("label", LABELS)
def test_random_requests_get_documented_answers(
    service: Running, documented: dict[str, APIOperation], label: str
) -> None:
    assert fuzz(service, documented[label], fewer(12))


def test_every_operation_is_asked(documented: dict[str, APIOperation]) -> None:
    assert set(LABELS) == documented.keys()


@pytest.mark.slow
@pytest.mark.parametrize("label", LABELS)
def test_many_random_requests_get_documented_answers(
    service: Running, documented: dict[str, APIOperation], label: str
) -> None:
    assert fuzz(service, documented[label], 300, random=True)


def test_the_client_uses_only_routes_that_exist() -> None:
    assert SENT.keys() <= set(LABELS)


def test_a_status_that_is_not_documented_is_noticed(service: Running) -> None:
    """Negative control."""
    incomplete = document()
    del incomplete["paths"]["/v1/working-memory/{session_id}"]["get"]["responses"]["200"]
    wanted = operations(incomplete)["GET /v1/working-memory/{session_id}"]
    with pytest.raises(BaseException, match="Undocumented status code"):
        fuzz(service, wanted, 40)
