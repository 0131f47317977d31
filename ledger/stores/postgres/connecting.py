"""Why there is no connection. libpq gives no SQLSTATE for it, only words of the server or its own (trust R-7)."""

import re
from typing import Final

_NO_LOGIN: Final = (
    "the server has no such login, or it may not log in; correct it in the database URL, or create it with "
    "`memory-ledger db login`"
)
_NO_DATABASE: Final = "the server has no such database; create it, or correct its name in the database URL"
_WHERE: Final = "in the database URL, MEMORY_LEDGER_DATABASE_PASSWORD, PGPASSWORD or PGPASSFILE"

#: What is said, and what that means for the user. The first that fits counts.
_REFUSALS: Final = {
    "certificate verify failed|self-signed certificate": (
        "TLS failed: the server's certificate is not from an authority in `sslrootcert`"
    ),
    "does not match host name": "TLS failed: the server's certificate is for another host name",
    "root certificate file": "TLS failed: the file of `sslrootcert` does not exist, or cannot be read",
    "does not support SSL": "the server offers no TLS, but `sslmode` demands it; turn it on at the server",
    "SSL required": "the server permits no connection without TLS; add `sslmode=verify-full` to the database URL",
    "pg_hba.conf.*no encryption": (
        "the server permits no such connection; add login and address to its pg_hba.conf, or, if it demands TLS, "
        "`sslmode=verify-full` to the database URL"
    ),
    "SSL error|certificate": "TLS failed; check `sslmode`, `sslrootcert` and the server's certificate",
    "no password supplied": f"the server asks for a password; give it {_WHERE}",
    "(password|SASL) authentication failed": f"the server refuses the login or its password; correct them {_WHERE}",
    "pg_hba.conf": "the server permits no connection of this login from here; add it to its pg_hba.conf",
    "authentication failed for user": "the server does not accept this login; see the methods in its pg_hba.conf",
    'role ".*" does not exist|is not permitted to log in|no such user': _NO_LOGIN,
    'database ".*" does not exist|no such database': _NO_DATABASE,
    "permission denied for database": "the login may not connect to this database; GRANT CONNECT on it",
}

_FULL: Final = "too many (connections|clients)|connection slots are reserved|no more connections|[Mm]ax ?[Cc]lients"
FULL: Final = (
    "the server gives no more connections: too many are open. Close other programs, let each have fewer "
    "(MEMORY_LEDGER_DATABASE_CONNECTIONS), or raise the limit (ALTER ROLE … CONNECTION LIMIT, max_connections, or the "
    "pooler's); then try again"
)


def refusal(fault: BaseException | None) -> str | None:
    """Return what the server refuses and what to do, without its words; None if it may answer later."""
    for pattern, meaning in _REFUSALS.items():
        if re.search(pattern, str(fault), re.MULTILINE):
            return meaning
    return None


def is_full(fault: BaseException | None) -> bool:
    """Return whether the server, or a pooler in front of it, gives no more connections for now."""
    state = getattr(fault, "sqlstate", None)
    return state == "53300" or (state is None and re.search(_FULL, str(fault)) is not None)


def reason(fault: BaseException | None) -> str:
    """Return why there is no connection; not the host, because of a password with ``@`` it may hold a part."""
    words = str(fault)
    if words.startswith("failed to resolve host"):
        return "its host has no address"
    attempts = [line for line in words.splitlines() if " failed: " in line]
    return attempts[-1].rpartition(" failed: ")[2] if attempts else type(fault).__name__
