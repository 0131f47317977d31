"""Requests over HTTP: one client for all tests, since making one costs more than a request."""

import httpx

from ledger.server.http.answer_headers import ETag

_CLIENT = httpx.Client(timeout=30, verify=False, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))

get, post, put, patch, request, stream = (
    _CLIENT.get,
    _CLIENT.post,
    _CLIENT.put,
    _CLIENT.patch,
    _CLIENT.request,
    _CLIENT.stream,
)

#: What a POST needs without authentication, also without a body.
JSON = {"content-type": "application/json"}


def shown_version(answer: httpx.Response) -> int:
    """Return the version that the ETag of *answer* names."""
    etag = ETag.parse(answer.headers["etag"])
    assert etag is not None
    return etag.version


def etag_at(api: httpx.Client, session: str, version: int) -> str:
    """Return the ETag of *session* at *version*."""
    return str(api.get(f"/v1/sessions/{session}/state", params={"version": version}).headers["etag"])
