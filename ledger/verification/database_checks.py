"""Check whether the promises of trust §1 hold on a database: its version, the login, what protects the log.

A check *fails* if the ledger would not start, or could not write; it is *weaker* if the ledger starts, but a promise
has less protection than it should. Source: trust V-9.
"""

from typing import Any, Final, Literal, TypeAlias

import msgspec
import psycopg
from psycopg.rows import dict_row

from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S, AsyncConnection, connect_timeout
from ledger.stores.postgres.faults import ledger_error
from ledger.stores.postgres.revisions import migrations_dir, newest_revision

Level: TypeAlias = Literal["ok", "weaker", "fails"]

#: The oldest minor release of each PostgreSQL with the fixes that the ledger needs (trust S-14).
_FLOORS = {15: 150_018, 16: 160_014, 17: 170_010, 18: 180_004}
_LOG = ("events",)
_CACHES = (
    "snapshots",
    "session_index",
    "session_runs",
    "projection_checkpoints",
    "search_entries",
    "search_forks",
    "search_fork_changes",
    "search_terms",
    "search_embeddings",
    "served_views",
    "jobs",
    "records",
    "record_accesses",
    "record_embeddings",
)
_CALLED_BY_THE_APPLICATION = (
    "append",
    "append_stream",
    "create_namespace",
    "find_items",
    "find_token",
    "namespace_ids",
    "prune_requests",
    "search",
    "search_records",
)
#: Failures in a row from which on a failing summarizer is more than a passing fault.
_REPEATED: Final = 3
_SUMMARIZER: Final = "Check MEMORY_LEDGER_SUMMARIZER_MODEL, its endpoint and its key, or the function of your program"
#: The condition of the policies (trust D-7), as every PostgreSQL from 15 on prints it.
_NAMESPACE_IS_SET = (
    "(array_position(( SELECT (string_to_array(NULLIF(current_setting('ledger.namespace'::text, true), ''::text), "
    "','::text))::uuid[] AS string_to_array), namespace_id) IS NOT NULL)"
)


class Check(msgspec.Struct, frozen=True):
    """One thing that was checked, how it came out, and what was found."""

    name: str
    level: Level
    found: str


_NO_SCHEMA: Final = Check("schema", "fails", "none; run `memory-ledger db upgrade`")


async def examine(url: str, *, embedded: bool, timeout_s: float = DEFAULT_TIMEOUT_S) -> list[Check]:
    """Return the checks of the database at *url*, after logging in like the application."""
    role: dict[str, Any] = {"options": "-c role=ledger_app"} if embedded else {}
    try:
        role["connect_timeout"] = connect_timeout(url, timeout_s)
        connection = await AsyncConnection.connect(url, autocommit=True, row_factory=dict_row, **role)
        connection.answer_s = timeout_s / 2
    except psycopg.Error as fault:
        return [Check("connection", "fails", str(ledger_error(fault)))]
    async with connection:
        examination = _Examination(connection, embedded=embedded)
        checks: list[Check] = []
        for examine_part in examination.parts():
            checks += await examine_part()
            if checks[-1] == _NO_SCHEMA:  # so there is nothing else to check
                break
        return checks


class _Examination:
    def __init__(self, connection: psycopg.AsyncConnection[dict[str, Any]], *, embedded: bool) -> None:
        self._connection = connection
        self._embedded = embedded

    def parts(self) -> list[Any]:
        return [
            self.version,
            self.writes,
            self.durability,
            self.login,
            self.schema,
            self.triggers,
            self.row_security,
            self.functions,
            self.grants,
            self.cascades,
            self.projections,
            self.summaries,
        ]

    async def version(self) -> list[Check]:
        row = await self._one("SELECT current_setting('server_version_num')::int AS n, version() AS text")
        major = row["n"] // 10_000
        floor = _FLOORS.get(major)
        if major < 15:
            return [Check("PostgreSQL", "fails", f"{major} is too old; it must be 15 or newer")]
        fixed = floor is None or row["n"] >= floor
        found = row["text"].split(",")[0]
        return [
            Check("PostgreSQL", "ok" if fixed else "weaker", found if fixed else f"{found}; update to its newest minor")
        ]

    async def writes(self) -> list[Check]:
        row = await self._one("""
            SELECT pg_is_in_recovery() AS standby, current_setting('transaction_read_only') = 'on' AS refused
        """)
        why = "a standby" if row["standby"] else "by its setting default_transaction_read_only"
        refused = f"the server is read-only, {why}: reading works, nothing can be written"
        return [
            Check("writes", "fails" if row["refused"] else "ok", refused if row["refused"] else "the server takes them")
        ]

    async def durability(self) -> list[Check]:
        checks = []
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            row = await self._one("SELECT current_setting(%s) AS value", name)
            checks.append(Check(name, "fails" if row["value"] == "off" else "ok", row["value"]))
        row = await self._one("SELECT current_setting('data_checksums') AS value")
        checks.append(Check("data checksums", "ok" if row["value"] == "on" else "weaker", row["value"]))
        return checks

    async def schema(self) -> list[Check]:
        row = await self._one("""
            SELECT current_user AS role, to_regnamespace('ledger') IS NOT NULL AS present,
                coalesce(has_schema_privilege(to_regnamespace('ledger'), 'USAGE'), false) AS usable
        """)
        if not row["present"]:
            return [_NO_SCHEMA]
        if not row["usable"]:
            return [Check("schema", "fails", f"{row['role']} may not use it; GRANT ledger_app TO {row['role']}")]
        row = await self._one("SELECT version_num AS revision FROM ledger.alembic_version")
        needed = newest_revision()
        if row["revision"] == needed:
            return [Check("schema", "ok", f"revision {needed}")]
        return [Check("schema", "fails", f"revision {row['revision']}; it must be {needed}")]

    async def login(self) -> list[Check]:
        rows = await self._all(
            """
            SELECT r.rolname AS name, r.rolname = current_user AS acts, r.rolsuper OR r.rolbypassrls AS mighty,
                coalesce((SELECT pg_has_role(r.rolname, nspowner, 'MEMBER') FROM pg_namespace
                    WHERE nspname = 'ledger'), false) AS owner,
                EXISTS (SELECT FROM pg_roles WHERE rolname = 'ledger_app') AS avoidable
            FROM pg_roles r WHERE r.rolname IN (current_user, session_user) ORDER BY acts DESC
            """
        )
        role = rows[0]
        checks = []
        for row in rows:
            what = (
                "is superuser or bypasses row security" if row["mighty"] else "owns the schema, or may become its owner"
            )
            found = f"{row['name']} {what}: guards stop only its mistakes, and it could drop the policies of namespaces"
            if not (row["mighty"] or row["owner"]):
                continue
            if self._embedded and not row["acts"]:
                checks.append(Check("login", "weaker", f"{found}; one machine, one user"))
            elif row["avoidable"]:  # so the ledger does not start (trust D-10)
                checks.append(Check("role", "fails", f"{found}; log in as a member of ledger_app"))
            else:
                checks.append(Check("role", "weaker", found))
        if not any(check.name == "role" for check in checks):
            checks.insert(0, Check("role", "ok", f"{role['name']}, which may only read and append"))
        return checks

    async def triggers(self) -> list[Check]:
        rows = await self._all(
            """
            SELECT log.name, bool_and(coalesce(guard.rows AND guard.truncate, false)) AS guarded
            FROM unnest(%s::text[]) AS log (name)
            LEFT JOIN pg_class c ON c.relnamespace = to_regnamespace('ledger') AND c.relname = log.name
            LEFT JOIN LATERAL pg_partition_tree(c.oid) AS p ON true
            CROSS JOIN LATERAL (
                SELECT bool_or(t.tgtype & 27 = 27) AS rows, bool_or(t.tgtype & 35 = 34) AS truncate
                FROM pg_trigger t JOIN pg_proc f ON f.oid = t.tgfoid
                WHERE t.tgrelid = coalesce(p.relid, c.oid) AND t.tgenabled = 'A' AND t.tgqual IS NULL
                    AND f.pronamespace = c.relnamespace AND f.proname = 'refuse_change'
            ) AS guard
            GROUP BY log.name ORDER BY log.name
            """,
            list(_LOG),
        )
        guarded = "a trigger refuses UPDATE, DELETE and TRUNCATE"
        bare = "only grants protect the log: a trigger is missing, disabled, conditional or another one"
        return [_guard(f"append-only {row['name']}", guarded, "" if row["guarded"] else bare) for row in rows]

    async def row_security(self) -> list[Check]:
        rows = await self._all(
            """
            SELECT c.relname AS name FROM pg_class c
            JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'namespace_id'
            LEFT JOIN pg_policy p ON p.polrelid = c.oid AND p.polpermissive
            CROSS JOIN LATERAL (SELECT CASE p.polname
                WHEN 'namespace_isolation' THEN p.polcmd = '*' AND p.polwithcheck IS NULL
                    AND pg_get_expr(p.polqual, p.polrelid) = %s
                WHEN 'verifier_reads' THEN p.polcmd = 'r' AND p.polroles = ARRAY[to_regrole('ledger_verifier')::oid]
                WHEN 'owner_filters' THEN p.polroles = ARRAY[c.relowner] AND (to_regrole('ledger_app') IS NOT NULL
                    OR p.polcmd = 'r' AND c.relname IN ('namespaces', 'search_entries', 'records'))
            END) AS policy (ours)
            WHERE c.relnamespace = to_regnamespace('ledger') AND c.relkind IN ('r', 'p')
            GROUP BY c.oid, c.relname, c.relrowsecurity, c.relforcerowsecurity
            HAVING NOT (c.relrowsecurity AND c.relforcerowsecurity AND bool_and(coalesce(policy.ours, false))
                AND bool_or(p.polname = 'namespace_isolation'))
            ORDER BY c.relname
            """,
            _NAMESPACE_IS_SET,
        )
        names = ", ".join(row["name"] for row in rows)
        open_tables = f"only our queries separate namespaces: it is off, not forced, or has other policies on {names}"
        return [_guard("row security", "forced on every table with a namespace", open_tables if rows else "")]

    async def functions(self) -> list[Check]:
        rows = await self._all("""
            SELECT p.proname AS name, p.prosecdef AS definer, p.prosrc AS body,
                p.proowner = n.nspowner AS owned,
                coalesce('search_path=ledger, pg_temp' = ANY (p.proconfig), false) AS pinned
            FROM pg_proc p JOIN pg_namespace n ON n.oid = p.pronamespace
            WHERE n.nspname = 'ledger' ORDER BY p.proname
        """)
        ours = [path.read_text() for path in (migrations_dir() / "sql").glob("*.sql")]
        faults = [
            row["name"]
            for row in rows
            if not row["owned"] or (row["definer"] and not row["pinned"]) or not any(row["body"] in sql for sql in ours)
        ]
        changed = f"the log relies on functions with another owner, search_path or body: {', '.join(faults)}"
        return [_guard("functions", f"{len(rows)}, all unchanged", changed if faults else "")]

    async def grants(self) -> list[Check]:
        rows = await self._all(
            """
            WITH granted (name, owner, acl) AS (
                SELECT relname::text, relowner, relacl FROM pg_class WHERE relnamespace = to_regnamespace('ledger')
                UNION ALL
                SELECT relname, relowner, attacl FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
                WHERE relnamespace = to_regnamespace('ledger')
                UNION ALL
                SELECT proname, proowner, coalesce(proacl, acldefault('f', proowner)) FROM pg_proc
                WHERE pronamespace = to_regnamespace('ledger')
                UNION ALL
                SELECT 'schema', nspowner, nspacl FROM pg_namespace WHERE nspname = 'ledger'
            )
            SELECT DISTINCT format('%%s on %%s to %%s', a.privilege_type, g.name,
                CASE a.grantee WHEN 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END) AS what
            FROM granted g, aclexplode(g.acl) a
            WHERE a.grantee <> g.owner AND (a.grantee = 0 OR NOT (
                a.privilege_type IN ('SELECT', 'USAGE')
                OR a.privilege_type IN ('INSERT', 'UPDATE', 'DELETE') AND g.name = ANY (%s)
                OR a.privilege_type = 'EXECUTE' AND g.name = ANY (%s)))
            ORDER BY what
            """,
            list(_CACHES),
            list(_CALLED_BY_THE_APPLICATION),
        )
        wide = f"only triggers protect the log: there are other grants: {', '.join(row['what'] for row in rows)}"
        return [_guard("grants", "only to read, to append and to write caches", wide if rows else "")]

    async def cascades(self) -> list[Check]:
        rows = await self._all(
            """
            SELECT f.conname AS name FROM pg_constraint f JOIN pg_class c ON c.oid = f.conrelid
            WHERE f.contype = 'f' AND (f.confdeltype NOT IN ('a', 'r') OR f.confupdtype NOT IN ('a', 'r'))
                AND c.relnamespace = to_regnamespace('ledger') AND c.relname = ANY (%s)
            """,
            list(_LOG),
        )
        weakness = f"a change of another table could change the log by {', '.join(row['name'] for row in rows)}"
        return [_guard("cascades", "none changes the log", weakness if rows else "")]

    async def projections(self) -> list[Check]:
        rows = await self._in_all_namespaces("""
            SELECT format('%s of %s behind position %s (%s)', b.projection, n.namespace, b."position",
                b.last_error) AS stuck
            FROM ledger.projection_checkpoints b JOIN ledger.namespaces n USING (namespace_id)
            WHERE b.last_error IS NOT NULL
            ORDER BY b.updated_at LIMIT 10
        """)
        if rows is None:
            return []
        return [_guard("indexes", "none is stuck", f"stuck: {', '.join(row['stuck'] for row in rows)}" if rows else "")]

    async def summaries(self) -> list[Check]:
        rows = await self._in_all_namespaces(
            """
            SELECT format('%%s of %%s, %%s in a row since %%s, %%s: %%s', i.session_id, n.namespace,
                i.failed_compactions, to_char(i.failing_since AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI UTC'),
                coalesce('model ' || i.failing_model, 'no model named'), i.last_failure) AS failing
            FROM (
                SELECT DISTINCT ON (namespace_id, stream_id) *
                FROM ledger.session_index ORDER BY namespace_id, stream_id, projection_version DESC
            ) i JOIN ledger.namespaces n USING (namespace_id)
            WHERE i.failed_compactions >= %s
            ORDER BY i.failing_since LIMIT 10
            """,
            _REPEATED,
        )
        if rows is None:
            return []
        failing = (
            f"fail: {'; '.join(row['failing'] for row in rows)}. What they cover stays in the window. {_SUMMARIZER}"
        )
        return [_guard("summaries", "no session fails repeatedly to get one", failing if rows else "")]

    async def _in_all_namespaces(self, query: str, *values: object) -> list[dict[str, Any]] | None:
        """Return the rows of *query*; None if the schema lacks something, which its own check says."""
        try:
            async with self._connection.transaction():
                await self._one("""
                    SELECT set_config('ledger.namespace', coalesce(string_agg(id::text, ','), ''), true)
                    FROM ledger.namespace_ids() AS id
                """)
                return await self._all(query, *values)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedColumn):
            return None

    async def _one(self, query: str, *values: object) -> dict[str, Any]:
        return (await self._all(query, *values))[0]

    async def _all(self, query: str, *values: object) -> list[dict[str, Any]]:
        return await (await self._connection.execute(query, values or None)).fetchall()


def _guard(name: str, sound: str, weakness: str) -> Check:
    """Return the check of a guard: *sound* unless it has a *weakness*."""
    return Check(name, "weaker" if weakness else "ok", weakness or sound)
