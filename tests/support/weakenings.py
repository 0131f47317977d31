"""Changes by an administrator that weaken a database, and what `doctor` must report. Source: trust V-9, D-1 … D-7."""

from typing import NamedTuple

_TRIGGER = "CREATE TRIGGER t BEFORE UPDATE OR DELETE ON ledger.events FOR EACH ROW {} EXECUTE FUNCTION {}();"
_ALWAYS = "ALTER TABLE ledger.events ENABLE ALWAYS TRIGGER t; DROP TRIGGER events_append_only ON ledger.events"
_FOREIGN = "ALTER TABLE ledger.events ADD FOREIGN KEY (namespace_id, stream_id) REFERENCES ledger.streams ON DELETE {}"


class Weakening(NamedTuple):
    """A change by an administrator, the check that finds it, and words of its report."""

    name: str
    sql: str
    check: str
    words: str


WEAKENINGS = [
    Weakening(
        "trigger disabled",
        "ALTER TABLE ledger.events DISABLE TRIGGER ALL",
        "append-only events",
        "only grants protect the log",
    ),
    Weakening(
        "trigger not for replicas",
        "ALTER TABLE ledger.events ENABLE TRIGGER events_append_only",
        "append-only events",
        "only grants protect the log",
    ),
    Weakening(
        "trigger dropped",
        "DROP TRIGGER events_no_truncate ON ledger.events",
        "append-only events",
        "only grants protect the log",
    ),
    Weakening(
        "trigger with a condition",
        _TRIGGER.format("WHEN (false)", "ledger.refuse_change") + _ALWAYS,
        "append-only events",
        "only grants protect the log",
    ),
    Weakening(
        "trigger of another function",
        "CREATE FUNCTION public.refuse_change() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NULL; END';"
        + _TRIGGER.format("", "public.refuse_change")
        + _ALWAYS,
        "append-only events",
        "only grants protect the log",
    ),
    Weakening(
        "trigger function replaced",
        "CREATE OR REPLACE FUNCTION ledger.refuse_change() RETURNS trigger LANGUAGE plpgsql"
        " SET search_path = pg_catalog, pg_temp AS 'BEGIN RETURN NEW; END'",
        "functions",
        "refuse_change",
    ),
    Weakening("policy dropped", "DROP POLICY namespace_isolation ON ledger.streams", "row security", "streams"),
    Weakening(
        "policy opened", "ALTER POLICY namespace_isolation ON ledger.events USING (true)", "row security", "events"
    ),
    Weakening(
        "policy opened to writing",
        "ALTER POLICY namespace_isolation ON ledger.snapshots WITH CHECK (true)",
        "row security",
        "snapshots",
    ),
    Weakening("policy added", "CREATE POLICY mine ON ledger.streams USING (true)", "row security", "streams"),
    Weakening(
        "policy of the verifier for all",
        "ALTER POLICY verifier_reads ON ledger.events TO PUBLIC",
        "row security",
        "events",
    ),
    Weakening(
        "policy of the owner for all",
        "ALTER POLICY owner_filters ON ledger.search_entries TO PUBLIC",
        "row security",
        "search_entries",
    ),
    Weakening(
        "row security not forced", "ALTER TABLE ledger.events NO FORCE ROW LEVEL SECURITY", "row security", "events"
    ),
    Weakening("row security off", "ALTER TABLE ledger.streams DISABLE ROW LEVEL SECURITY", "row security", "streams"),
    Weakening(
        "search path", "ALTER FUNCTION ledger.append SET search_path = public, ledger, pg_temp", "functions", "append"
    ),
    Weakening("search path removed", "ALTER FUNCTION ledger.append RESET search_path", "functions", "append"),
    Weakening("function's owner", "ALTER FUNCTION ledger.append OWNER TO postgres", "functions", "append"),
    Weakening(
        "function's body",
        "CREATE OR REPLACE FUNCTION ledger.namespace_ids() RETURNS SETOF uuid LANGUAGE sql STABLE SECURITY DEFINER"
        " SET search_path = ledger, pg_temp AS 'SELECT gen_random_uuid()'",
        "functions",
        "namespace_ids",
    ),
    Weakening(
        "function for everybody", "GRANT EXECUTE ON FUNCTION ledger.append TO PUBLIC", "grants", "EXECUTE on append"
    ),
    Weakening(
        "helper for the application",
        "GRANT EXECUTE ON FUNCTION ledger.append_checked TO ledger_app",
        "grants",
        "EXECUTE on append_checked to ledger_app",
    ),
    Weakening(
        "table to write", "GRANT INSERT ON ledger.events TO ledger_app", "grants", "INSERT on events to ledger_app"
    ),
    Weakening(
        "column to write",
        "GRANT UPDATE (actor) ON ledger.events TO ledger_app",
        "grants",
        "UPDATE on events to ledger_app",
    ),
    Weakening("table for everybody", "GRANT SELECT ON ledger.events TO PUBLIC", "grants", "SELECT on events to PUBLIC"),
    Weakening("cache to empty", "GRANT TRUNCATE ON ledger.snapshots TO ledger_app", "grants", "TRUNCATE on snapshots"),
    Weakening("schema to add to", "GRANT CREATE ON SCHEMA ledger TO ledger_app", "grants", "CREATE on schema"),
    Weakening("cascade", _FOREIGN.format("CASCADE"), "cascades", "events_namespace_id_stream_id_fkey"),
    Weakening("set null", _FOREIGN.format("SET NULL"), "cascades", "events_namespace_id_stream_id_fkey"),
]
