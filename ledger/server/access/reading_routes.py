"""The routes that a login in a browser may use: those that read, and write nothing."""

import re
from typing import Final

_GET: Final = re.compile(r"/v1/(?!health|working-memory|long-term-memory|memory/|summary-views|tasks).+")
_GET_HISTORY: Final = re.compile(r"/v1/long-term-memory/[^/]+/history")
_POST: Final = re.compile(
    r"/v1/(?:search|config/check|long-term-memory/search)"
    r"|/v1/sessions/[^/]+/(?:diff|verify|find|what-if|trials|config/check)"
)
#: The end and the secret of a login; they write nothing either.
_OWN: Final = frozenset({("GET", "/ui/csrf"), ("POST", "/ui/logout")})


def only_reads(method: str, path: str) -> bool:
    """Return whether a request with *method* and *path*, or a route with this path, only reads.

    A GET of working memory does not: it may bring back a session that expired.
    """
    if (method, path) in _OWN:
        return True
    if method == "POST":
        return _POST.fullmatch(path) is not None
    return method in {"GET", "HEAD"} and any(form.fullmatch(path) for form in (_GET, _GET_HISTORY))
