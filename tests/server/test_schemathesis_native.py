"""Random requests, valid and not, made from the OpenAPI of the native routes.

Whatever comes: no fault of ours, no status that is not documented, no answer of another shape (trust P-11).
"""

import secrets
from typing import Any, Final

import httpx
import pytest
import schemathesis
from fastapi import APIRouter, FastAPI
from fastapi.routing import APIRoute
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis import GenerationMode
from schemathesis.checks import CheckFunction, not_a_server_error
from schemathesis.schemas import APIOperation
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from ledger.server import native
from tests.server.conftest import Running
from tests.support.examples import fewer

CHECKS: Final[list[CheckFunction]] = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_schema_conformance,
]
SAID: Final = [
    {"role": "user", "content": "hello", "entry_id": "m-1"},
    {"role": "assistant", "content": "hello to you", "entry_id": "m-2"},
]


@schemathesis.serializer("application/jsonl")
def lines(context: Any, value: Any) -> bytes:
    """Return a body of an import: hardly ever one of ours."""
    return str(value).encode()


def document() -> dict[str, Any]:
    app = FastAPI(title="native", version="1")
    app.include_router(native.router)
    return app.openapi()


def operations(document: dict[str, Any]) -> dict[str, APIOperation]:
    """Return what is asked by its label; streams do not end and have tests of their own."""
    found = [
        get_all_operation.ok() for get_all_operation in schemathesis.openapi.from_dict(document).get_all_operations()
    ]
    return {result.label: result for result in found if not result.path.endswith("/stream")}


def labels(router: APIRouter) -> list[str]:
    """Return the labels of the routes without their document, which takes each process of tests a second to make."""
    return [
        f"{method} {route.path}"
        for route in router.routes
        if isinstance(route, APIRoute) and 501 not in route.responses
        for method in sorted(route.methods)
    ]


LABELS: Final = [label for label in labels(native.router) if not label.endswith("/stream")]


@pytest.fixture(scope="module")
def documented() -> dict[str, APIOperation]:
    return operations(document())


def fuzz(service: Running, operation: APIOperation, examples: int, *, random: bool = False) -> set[int]:
    """Send *examples* requests, half of them about a session that is there; return the statuses that came."""
    namespace, session = f"fuzz-{secrets.token_hex(4)}", "s"
    came: set[int] = set()
    either = operation.as_strategy() | operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)

    @settings(
        max_examples=examples,
        deadline=None,
        database=None,
        derandomize=not random,
        phases=[Phase.generate, Phase.shrink],
        suppress_health_check=list(HealthCheck),
    )
    @given(either, st.booleans())
    def ask(case: Any, there: bool) -> None:
        if there:
            case.query = {**(case.query or {}), "namespace": namespace}
            case.query.pop("user_id", None)
            known = {"session_id": session, "entry_id": "m-1"}
            case.path_parameters = {
                name: known.get(name, value) for name, value in (case.path_parameters or {}).items()
            }
        answer = case.call(base_url=service.url)
        came.add(answer.status_code)
        case.validate_response(answer, checks=CHECKS)

    with httpx.Client(base_url=service.url, params={"namespace": namespace}) as client:
        assert client.post(f"/v1/sessions/{session}/entries", json={"entries": SAID}).status_code == 201
        ask()
    return came


@pytest.mark.sample(9)
@pytest.mark.parametrize("label", LABELS)
def test_random_requests_get_documented_answers(
    service: Running, documented: dict[str, APIOperation], label: str
) -> None:
    assert fuzz(service, documented[label], fewer(20))


def test_every_operation_is_asked(documented: dict[str, APIOperation]) -> None:
    assert set(LABELS) == documented.keys()


@pytest.mark.slow
@pytest.mark.parametrize("label", LABELS)
def test_many_random_requests_get_documented_answers(
    service: Running, documented: dict[str, APIOperation], label: str
) -> None:
    assert fuzz(service, documented[label], 400, random=True)


def test_a_status_that_is_not_documented_is_noticed(service: Running) -> None:
    """Negative control."""
    incomplete = document()
    del incomplete["paths"]["/v1/sessions/{session_id}/stats"]["get"]["responses"]["200"]
    stats = operations(incomplete)["GET /v1/sessions/{session_id}/stats"]
    with pytest.raises(BaseException, match="Undocumented status code"):
        fuzz(service, stats, 30)


def test_every_route_has_an_example_or_takes_no_body_and_documents_its_faults() -> None:
    for path, methods in document()["paths"].items():
        for method, route in methods.items():
            assert {"401", "403", "404", "422", "503"} <= route["responses"].keys(), (method, path)
            assert all("problem+json" in name for name in route["responses"]["422"]["content"]), (method, path)
