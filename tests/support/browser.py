"""What a browser sends for the viewer's page: its cookie, where the request comes from, and the CSRF token."""

from datetime import timedelta
from typing import Any

import httpx
import jwt

from ledger.events.clock import SystemClock
from tests.server.conftest import Running
from tests.support.service_process import ServiceProcess

_CLIENT = httpx.Client(timeout=30, verify=False, trust_env=False, limits=httpx.Limits(max_keepalive_connections=0))
ISSUER, SECRET = "https://issuer.example", "a shared key of more than 32 bytes"
#: Settings of a service whose callers have JWTs.
OIDC = {"auth_mode": "oidc", "oidc_issuer": ISSUER, "oidc_audience": "ledger", "oidc_hmac_key": SECRET}


def a_jwt(*scopes: str, namespaces: tuple[str, ...] = ("*",), lasts_s: float = 3_600) -> str:
    """Return a JWT that the service of `OIDC` accepts."""
    now = SystemClock().now()
    claims = {
        "iss": ISSUER,
        "aud": "ledger",
        "sub": "ann",
        "iat": now,
        "exp": now + timedelta(seconds=lasts_s),
        "scope": " ".join(scopes),
        "memory_ledger_namespaces": list(namespaces),
    }
    return jwt.encode(claims, SECRET, algorithm="HS256")


class Browser:
    """A browser that has the page of *service*, or at a URL, open; *headers* of a request replace those of the page."""

    def __init__(self, service: Running | ServiceProcess | str) -> None:
        self.url = service if isinstance(service, str) else service.url
        self.cookie = ""
        self.csrf = ""

    def send(self, method: str, path: str, *, body: Any = None, **headers: str | None) -> httpx.Response:
        """Send a request as the script of the page does; a header that is None is left out."""
        usual = {"sec-fetch-site": "same-origin", "cookie": self.cookie or None}
        if method != "GET":
            usual |= {"origin": self.url, "x-csrf-token": self.csrf or None}
        replaced = {name.replace("_", "-"): value for name, value in headers.items()}
        sent = {name: value for name, value in {**usual, **replaced}.items() if value is not None}
        _CLIENT.cookies.clear()  # each browser sends its own
        return _CLIENT.request(method, f"{self.url}{path}", json=body, headers=sent)

    def log_in(self, token: str, **headers: str | None) -> httpx.Response:
        """Log in, and hold the cookie as browsers do."""
        answer = self.send("POST", "/ui/login", body={"token": token}, **headers)
        if answer.status_code == 200:
            self.csrf = answer.json()["csrf"]
            self.cookie = answer.headers["set-cookie"].partition(";")[0]
        return answer
