"""Creating the application's login, as the owner. Source: trust D-10."""

from typing import Final, LiteralString

from psycopg import sql

from ledger.errors import InvalidInput, MigrationNeeded
from ledger.stores.postgres.connector import APPLICATION_ROLE
from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S, connect
from ledger.stores.postgres.faults import translated

SHORTEST_PASSWORD: Final = 16

#: Whether the schema and the application role exist, whether the login exists, and whether it has no more rights.
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


def create_login(url: str, login: str, password: str, *, timeout_s: float = DEFAULT_TIMEOUT_S) -> bool:
    """Create *login* as a member of the application role, or change its password; return whether it is new.

    Only the SCRAM verifier is sent, so the password does not appear in the server's log.

    Raises:
        DatabaseUnavailable: the server cannot be reached.
        InvalidInput: the password is too short, or *login* exists and is not the application's.
        MigrationNeeded: there is no schema yet.
        NotAllowed: the login of *url* may not create roles.
    """
    if len(password) < SHORTEST_PASSWORD:
        raise InvalidInput(
            "bad_password",
            f"must have at least {SHORTEST_PASSWORD} characters",
            field="MEMORY_LEDGER_LOGIN_PASSWORD",
            limit=SHORTEST_PASSWORD,
        )
    with translated(), connect(url, timeout_s=timeout_s) as connection:
        wanted = {"role": APPLICATION_ROLE, "login": login}
        row = connection.execute(_WHAT_IS_THERE, wanted).fetchone()
        assert row is not None
        migrated, exists, plain = row
        if not migrated:
            raise MigrationNeeded("the database has no ledger schema; run `memory-ledger db upgrade`")
        if exists and not plain:
            raise InvalidInput("login_exists", "exists and is not the application's; choose another", field="LOGIN")
        verifier = connection.pgconn.encrypt_password(password.encode(), login.encode(), b"scram-sha-256").decode()
        connection.execute(
            sql.SQL(_CHANGE if exists else _CREATE).format(
                login=sql.Identifier(login), verifier=sql.Literal(verifier), role=sql.Identifier(APPLICATION_ROLE)
            )
        )
    return not exists
