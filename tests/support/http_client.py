"""Requests over HTTP: one client for all tests, since making one costs more than a request."""

import httpx

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
