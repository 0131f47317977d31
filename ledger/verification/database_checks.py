"""Check whether the promises of trust §1 hold on a database: its version, the login, what protects the log.

A check *fails* if the ledger would not start, or could not write; it is *weaker* if the ledger starts, but a promise
has less protection than it should. Source: trust V-9.
"""

from pathlib import Path
from typing import Any, Final, Literal, TypeAlias

import msgspec
import psycopg
from psycopg.rows import dict_row

from ledger.stores.postgres.deadlines import DEFAULT_TIMEOUT_S, AsyncConnection, connect_timeout
from ledger.stores.postgres.faults import ledger_error
from ledger.stores.postgres.revisions import migrations_dir, newest_revision

_QUERIES: Final = {path.stem: path.read_text() for path in (Path(__file__).parent / "database_queries").glob("*.sql")}

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
        row = await self._one("server_version")
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
        row = await self._one("read_only")
        why = "a standby" if row["standby"] else "by its setting default_transaction_read_only"
        refused = f"the server is read-only, {why}: reading works, nothing can be written"
        return [
            Check("writes", "fails" if row["refused"] else "ok", refused if row["refused"] else "the server takes them")
        ]

    async def durability(self) -> list[Check]:
        checks = []
        for name in ("fsync", "full_page_writes", "synchronous_commit"):
            row = await self._one("setting", name=name)
            checks.append(Check(name, "fails" if row["value"] == "off" else "ok", row["value"]))
        row = await self._one("setting", name="data_checksums")
        checks.append(Check("data checksums", "ok" if row["value"] == "on" else "weaker", row["value"]))
        return checks

    async def schema(self) -> list[Check]:
        row = await self._one("schema_use")
        if not row["present"]:
            return [_NO_SCHEMA]
        if not row["usable"]:
            return [Check("schema", "fails", f"{row['role']} may not use it; GRANT ledger_app TO {row['role']}")]
        row = await self._one("revision")
        needed = newest_revision()
        if row["revision"] == needed:
            return [Check("schema", "ok", f"revision {needed}")]
        return [Check("schema", "fails", f"revision {row['revision']}; it must be {needed}")]

    async def login(self) -> list[Check]:
        rows = await self._all("roles")
        role = rows[0]
        checks = []
        for row in rows:
            what = (
                "is superuser or bypasses row security"
                if row["unrestricted"]
                else "owns the schema, or may become its owner"
            )
            found = f"{row['name']} {what}: guards stop only its mistakes, and it could drop the policies of namespaces"
            if not (row["unrestricted"] or row["owner"]):
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
        rows = await self._all("log_triggers", log=list(_LOG))
        append_only = "a trigger refuses UPDATE, DELETE and TRUNCATE"
        unprotected = "only grants protect the log: a trigger is missing, disabled, conditional or another one"
        return [
            _guard(f"append-only {row['name']}", append_only, "" if row["append_only"] else unprotected) for row in rows
        ]

    async def row_security(self) -> list[Check]:
        rows = await self._all("open_tables", condition=_NAMESPACE_IS_SET)
        names = ", ".join(row["name"] for row in rows)
        open_tables = f"only our queries separate namespaces: it is off, not forced, or has other policies on {names}"
        return [_guard("row security", "forced on every table with a namespace", open_tables if rows else "")]

    async def functions(self) -> list[Check]:
        rows = await self._all("function_bodies")
        ours = [path.read_text() for path in (migrations_dir() / "sql").glob("*.sql")]
        faults = [
            row["name"]
            for row in rows
            if not row["owned"] or (row["definer"] and not row["pinned"]) or not any(row["body"] in sql for sql in ours)
        ]
        changed = f"the log relies on functions with another owner, search_path or body: {', '.join(faults)}"
        return [_guard("functions", f"{len(rows)}, all unchanged", changed if faults else "")]

    async def grants(self) -> list[Check]:
        rows = await self._all("wide_grants", caches=list(_CACHES), called=list(_CALLED_BY_THE_APPLICATION))
        wide = f"only triggers protect the log: there are other grants: {', '.join(row['what'] for row in rows)}"
        return [_guard("grants", "only to read, to append and to write caches", wide if rows else "")]

    async def cascades(self) -> list[Check]:
        rows = await self._all("log_cascades", log=list(_LOG))
        weakness = f"a change of another table could change the log by {', '.join(row['name'] for row in rows)}"
        return [_guard("cascades", "none changes the log", weakness if rows else "")]

    async def projections(self) -> list[Check]:
        rows = await self._in_all_namespaces("stuck_indexes")
        if rows is None:
            return []
        return [_guard("indexes", "none is stuck", f"stuck: {', '.join(row['stuck'] for row in rows)}" if rows else "")]

    async def summaries(self) -> list[Check]:
        rows = await self._in_all_namespaces("failing_summaries", failures=_REPEATED)
        if rows is None:
            return []
        failing = (
            f"fail: {'; '.join(row['failing'] for row in rows)}. What they cover stays in the window. {_SUMMARIZER}"
        )
        return [_guard("summaries", "no session fails repeatedly to get one", failing if rows else "")]

    async def _in_all_namespaces(self, query: str, **values: object) -> list[dict[str, Any]] | None:
        """Return the rows of a query, by its name; None if the schema lacks something, which its own check says."""
        try:
            async with self._connection.transaction():
                await self._one("set_namespaces")
                return await self._all(query, **values)
        except (psycopg.errors.InsufficientPrivilege, psycopg.errors.UndefinedFunction, psycopg.errors.UndefinedColumn):
            return None

    async def _one(self, query: str, **values: object) -> dict[str, Any]:
        return (await self._all(query, **values))[0]

    async def _all(self, query: str, **values: object) -> list[dict[str, Any]]:
        return await (await self._connection.execute(_QUERIES[query], values)).fetchall()


def _guard(name: str, sound: str, weakness: str) -> Check:
    """Return the check of a guard: *sound* unless it has a *weakness*."""
    return Check(name, "weaker" if weakness else "ok", weakness or sound)
