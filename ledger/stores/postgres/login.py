"""Making the login under which the application comes, as the owner. Source: trust D-10."""

from typing import Final, LiteralString

import psycopg
from psycopg import sql

from ledger.errors import InvalidInput, MigrationNeeded
from ledger.stores.postgres.connections import APPLICATION_ROLE, CONNECT_TIMEOUT_S
from ledger.stores.postgres.faults import translated

SHORTEST_PASSWORD: Final = 16

#: Whether the schema and its application role are there, whether the login is, and whether it is a plain one.
_WHAT_IS_THERE: Final[LiteralString] = """
SELECT
    to_regnamespace('ledger') IS NOT NULL AND EXISTS (SELECT FROM pg_roles WHERE rolname = %(role)s),
    r.rolname IS NOT NULL,
    coalesce(r.rolcanlogin AND pg_has_role(r.oid, %(role)s, 'MEMBER'), false)
        AND NOT (r.rolsuper OR r.rolbypassrls OR r.rolcreaterole)
        AND NOT EXISTS (
            SELECT FROM pg_namespace n WHERE n.nspname = 'ledger' AND pg_has_role(r.oid, n.nspowner, 'MEMBER')
        )
FROM (SELECT) AS nobody LEFT JOIN pg_roles r ON r.rolname = %(login)s
"""
_CREATE: Final[LiteralString] = "CREATE ROLE {login} LOGIN PASSWORD {verifier} IN ROLE {role}"
_CHANGE: Final[LiteralString] = "ALTER ROLE {login} PASSWORD {verifier}"


def make_login(url: str, login: str, password: str) -> bool:
    """Let *login* in with *password*, as a member of the application role, and return whether it is a new one.

    One that is there gets the password. The server is sent its SCRAM verifier, so that no log of it has the password.

    Raises:
        DatabaseUnavailable: it cannot be reached.
        InvalidInput: the password is too short, or the login is there and is not the application's.
        MigrationNeeded: there is no schema yet.
        NotAllowed: the login of *url* may not make roles.
    """
    if len(password) < SHORTEST_PASSWORD:
        raise InvalidInput(
            "bad_password",
            f"has fewer than {SHORTEST_PASSWORD} characters",
            field="MEMORY_LEDGER_LOGIN_PASSWORD",
            limit=SHORTEST_PASSWORD,
        )
    with translated(), psycopg.connect(url, connect_timeout=CONNECT_TIMEOUT_S) as connection:
        wanted = {"role": APPLICATION_ROLE, "login": login}
        row = connection.execute(_WHAT_IS_THERE, wanted).fetchone()
        assert row is not None
        migrated, there, plain = row
        if not migrated:
            raise MigrationNeeded("the database has no ledger schema; run `memory-ledger db upgrade`")
        if there and not plain:
            raise InvalidInput("login_exists", "is there and is not the application's; choose another", field="LOGIN")
        verifier = connection.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()
        connection.execute(
            sql.SQL(_CHANGE if there else _CREATE).format(
                login=sql.Identifier(login), verifier=sql.Literal(verifier), role=sql.Identifier(APPLICATION_ROLE)
            )
        )
    return not there
