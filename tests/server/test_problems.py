"""Every error has its status."""

import json

import pytest

from ledger import errors
from ledger.errors import InvalidInput, LedgerError
from ledger.server.http import problems


def leaves(kind: type[LedgerError]) -> list[type[LedgerError]]:
    below = [each for sub in kind.__subclasses__() for each in leaves(sub)]
    return below or [kind]


#: The five of trust N-13, and which statuses each may have.
FAMILIES = {
    errors.InvalidInput: {400, 408, 413, 414, 415, 422, 431, 501},
    errors.NotFound: {404},
    errors.Conflict: {409, 412},
    errors.Unavailable: {429, 500, 503, 507},
}


@pytest.mark.parametrize("kind", leaves(LedgerError), ids=lambda kind: kind.__name__)
def test_every_leaf_has_a_status_of_its_family(kind: type[LedgerError]) -> None:
    """trust N-13, http W-63."""
    status = problems.status_of(kind.__new__(kind))
    if issubclass(kind, errors.NotAllowed):
        ours = {errors.NotAuthenticated: 401, errors.NotPermitted: 403}
        assert status == ours.get(kind, 503)
        return
    (family,) = [family for family in FAMILIES if issubclass(kind, family)]
    assert status in FAMILIES[family]


def test_an_error_without_a_status_is_noticed() -> None:
    """Negative control."""

    class Stray(LedgerError):
        pass

    assert problems.status_of(Stray()) == 500
    assert not [family for family in FAMILIES if issubclass(Stray, family)]


def test_every_status_has_a_title() -> None:
    statuses = {*problems.STATUS.values(), *problems.STATUS_OF_CODE.values()}
    assert statuses <= problems.TITLES.keys()


def test_every_refused_code_is_an_input_error() -> None:
    for code, status in problems.STATUS_OF_CODE.items():
        fault = InvalidInput(code, "is wrong", field="a.b")
        assert problems.answer(fault, "native").status_code == status
        malformed = code in {"invalid_json", "invalid_encoding"}
        assert problems.answer(fault, "compat").status_code == (422 if malformed else status), "W-3"


@pytest.mark.parametrize(
    ("status", "code", "hint"), [(404, "not_found", "/openapi.json"), (405, "method_not_allowed", "Allow")]
)
def test_a_request_without_a_route_is_a_problem_that_says_what_to_do(status: int, code: str, hint: str) -> None:
    answer = problems.status_only(status, "native")
    problem = json.loads(answer.body)
    assert answer.media_type == "application/problem+json"
    assert (problem["status"], problem["code"]) == (status, code)
    assert hint in problem["detail"]
    assert json.loads(problems.status_only(status, "compat").body) == {"detail": problems.TITLES[status]}


def test_a_place_in_a_list_is_a_number() -> None:
    """http W-4."""
    refused = problems.answer(InvalidInput("bad", "is wrong", field="messages.0.id"), "compat")
    assert json.loads(refused.body)["detail"][0]["loc"] == ["body", "messages", 0, "id"]


@pytest.mark.parametrize(
    "fault",
    [
        errors.SessionNotFound("secret"),
        errors.EntryNotFound("secret"),
        errors.EntryCovered("secret"),
        errors.RecordNotFound("secret"),
        errors.DuplicateEntry("secret"),
        errors.SessionExists("secret"),
        errors.CompactionInProgress("secret"),
    ],
)
def test_an_answer_does_not_repeat_a_requested_name(fault: LedgerError) -> None:
    """trust N-13, I-81; what the library says, which calls it, does."""
    assert b"secret" not in problems.answer(fault, "native").body
    assert "secret" in str(fault)


def test_no_word_of_the_database_reaches_a_caller() -> None:
    said = 'the database does not answer (FATAL: password authentication failed for user "bob"); try again'
    for fault in (errors.DatabaseUnavailable(said), errors.UnsafeDatabase(said), errors.UnsafeRole(said)):
        for dialect in ("native", "compat"):
            assert b"bob" not in bytes(problems.answer(fault, dialect).body)
