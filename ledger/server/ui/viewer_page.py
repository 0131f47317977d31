"""The page of the viewer, with its script, stylesheet and icon: one page for all addresses, which holds no content."""

from collections.abc import Awaitable, Callable
from functools import cache
from hashlib import sha256
from html import escape
from importlib import resources
from typing import Final

from fastapi import APIRouter
from starlette.responses import Response

from ledger.server.http.route_arguments import QueryPairs
from ledger.server.http.route_kinds import NativeRoute

#: What the page may do: its own script and style, requests to its own service, and text that is never read as HTML.
POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"
)
SCREENS: Final = ("sessions", "session", "search", "records", "backtests", "login")
_HEADERS: Final = {
    "content-security-policy": POLICY,
    "cache-control": "no-cache",  # ask again, and get 304 unless it changed
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_FILES: Final = {
    "viewer.js": "text/javascript; charset=utf-8",
    "viewer.css": "text/css; charset=utf-8",
    "icon.svg": "image/svg+xml",
}
TITLE: Final = "Memory Ledger"
#: The script draws into the element.
BODY: Final = '<div id="app"></div><noscript>The viewer needs JavaScript.</noscript>'
_PAGE: Final = f"""\
<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>{escape(TITLE)}</title>
<link rel="icon" href="icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="viewer.css">
<script src="viewer.js" defer></script>
</head>
<body>{BODY}</body>
</html>
"""


class _PageRoute(NativeRoute):
    """A route of the page: the parameters of its address are for its script."""

    def check(self, query: QueryPairs) -> None:
        """Allow unknown parameters."""


router = APIRouter(route_class=_PageRoute, include_in_schema=False)


@cache
def file_text(name: str) -> str:
    """Return the text of the script ``viewer.js``, the stylesheet ``viewer.css`` or the icon ``icon.svg``."""
    return resources.files(__package__).joinpath(name).read_text("utf-8")


def _answering(text: Callable[[], str], media_type: str) -> Callable[[], Awaitable[Response]]:
    async def answer() -> Response:
        content = text().encode()
        headers = {**_HEADERS, "content-type": media_type, "etag": f'"{sha256(content).hexdigest()[:32]}"'}
        return Response(content, headers=headers)

    return answer


async def _to_folder() -> Response:
    return Response(status_code=307, headers={**_HEADERS, "location": "ui/"})  # relative: a proxy may add a prefix


def _file_of(name: str) -> Callable[[], str]:
    return lambda: file_text(name)


router.add_api_route("/ui", _to_folder)
for _path in ("/ui/", *(f"/ui/{screen}" for screen in SCREENS)):
    router.add_api_route(_path, _answering(lambda: _PAGE, "text/html; charset=utf-8"))
for _name, _type in _FILES.items():
    router.add_api_route(f"/ui/{_name}", _answering(_file_of(_name), _type))
