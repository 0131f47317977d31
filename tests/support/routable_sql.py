"""The house rules for SQL that can be routed to the server of one namespace. Source: trust D-14, D-15.

They are checked on text: a rule that a parser would need to understand is written so that a reader sees it too.
"""

import ast
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

import psycopg

from ledger.stores.postgres.revisions import migrations_dir

_MIGRATIONS: Final = migrations_dir() / "sql"
_PACKAGE: Final = Path(__file__).parents[2] / "ledger"
#: A parameter: of the driver, of SQLAlchemy, of a function of ours.
_PARAMETER: Final = r"(CAST\()?(NULL\)|%\(\w+\)s|%s|\$\d+|:\w+|p_namespace_id\b|p_namespaces\b)"
_VOLATILE: Final = re.compile(r"\b(clock_timestamp|gen_random_uuid|nextval|random|set_config|timeofday|uuidv7)\(")
_KEYWORD: Final = "AS|CROSS|FOR|FULL|GROUP|INNER|JOIN|LEFT|LIMIT|ON|ORDER|RIGHT|SET|UNION|USING|WHERE"
_TABLE: Final = rf"(?:ONLY\s+)?(?:ledger\.)?(\w+)(?:\s+(?:AS\s+)?(?!(?:{_KEYWORD})\b)(\w+))?"
_REFERENCE: Final = re.compile(rf"(?:\b(?:FROM|JOIN|UPDATE|USING)\s+|(?<=,)\s*(?=ledger\.)){_TABLE}")
_INSERT: Final = re.compile(r"\bINSERT INTO\s+(?:ledger\.)?(\w+)(?:\s+(?:AS\s+)?\w+)?\s*\(([^)]*)\)")
_QUERY: Final = re.compile(r"^\s*(SELECT|INSERT|UPDATE|DELETE|WITH)\b")
_UPDATE: Final = re.compile(r"(?<!FOR )(?<!DO )\bUPDATE\s")


@cache
def tables() -> set[str]:
    """Return the tables whose rows belong to a namespace."""
    made = re.findall(
        r"CREATE TABLE ledger\.(\w+) \((.*?)\n\s*\)", _text(*sorted(_MIGRATIONS.glob("*.sql"))), re.DOTALL
    )
    return {name for name, columns in made if "namespace_id" in columns}


def files() -> dict[str, str]:
    """Return the SQL of each query file and of each function, by file name."""
    queries = {path.name: path.read_text() for path in _PACKAGE.rglob("*.sql") if "_migrations" not in path.parts}
    functions = {path.name: path.read_text() for path in _MIGRATIONS.glob("*.sql")}
    bodies = {
        name: match[1]
        for name, text in functions.items()
        if (match := re.search(r"CREATE FUNCTION.*?\$\$(.*)\$\$", text, re.DOTALL))
    }
    return queries | bodies | dict(_constants())


def _constants() -> Iterator[tuple[str, str]]:
    """Yield the SQL in string constants of the store, with its file and line."""
    for path in sorted((_PACKAGE / "stores" / "postgres").glob("*.py")):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str | bytes):
                text = node.value.decode(errors="replace") if isinstance(node.value, bytes) else node.value
                if _QUERY.search(text) and "ledger." in text:
                    yield f"{path.name}:{node.lineno}", text


def statements(sql: str) -> Iterator[str]:
    """Yield the statements in *sql*, a query or the body of a function, without comments."""
    for statement in re.sub(r"--[^\n]*", "", sql).split(";"):
        if words := " ".join(statement.split()):
            yield words


def breaches(statement: str, names: set[str]) -> list[str]:
    """Return what is wrong with one *statement*; *names* are the `tables`."""
    references = [(table, alias) for table, alias in _REFERENCE.findall(statement) if table in names]
    inserts = [(table, columns) for table, columns in _INSERT.findall(statement) if table in names]
    if not references and not inserts and "ledger." not in statement:
        return []
    found = [
        f"{table} has no filter on a namespace" for table, alias in references if not _filtered(statement, table, alias)
    ]
    found += [f"rows of {table} bring no namespace" for table, columns in inserts if "namespace_id" not in columns]
    if re.search(r"\bCYCLE\b", statement):
        found.append("a CYCLE clause")
    if _UPDATE.search(statement):
        if _VOLATILE.search(statement):
            found.append("a volatile function in UPDATE")
        if re.search(r"\bSET\b.*?=\s*[a-z]\w*\[.*?\bWHERE\b", statement):
            found.append("an element of an array in SET")
    _, _, returned = statement.partition(" RETURNING ")
    if _VOLATILE.search(returned):
        found.append("a volatile function in RETURNING")
    if any(_VOLATILE.search(case) for case in re.findall(r"\bCASE\b.*?\bEND\b", statement)):
        found.append("a volatile function in CASE")
    return found


@contextmanager
def watched() -> Iterator[None]:
    """Refuse, at the end, the statements that were sent meanwhile and break a rule."""
    execute = psycopg.AsyncCursor.execute
    sent: set[str] = set()

    async def watching(cursor: Any, query: Any, *values: Any, **options: Any) -> Any:
        sent.add(" ".join(str(query).split()))
        return await execute(cursor, query, *values, **options)

    with patch.object(psycopg.AsyncCursor, "execute", watching):
        yield
    names = tables()
    found = {statement: breaches(statement, names) for statement in sent if "namespace_ids()" not in statement}
    assert {statement: wrong for statement, wrong in found.items() if wrong} == {}


def _filtered(statement: str, table: str, alias: str) -> bool:
    """Return whether the *table* is filtered by a parameter, under its *alias* or its own name."""
    owner = rf"\b{alias}\." if alias else rf"(?<!\w\.)(?:\b(?:ledger\.)?{table}\.)?"
    by_one = rf"{owner}namespace_id (?:= (?:ANY ?\()?|IN \(){_PARAMETER}"
    by_pairs = rf"\({owner}namespace_id, [^)]*\) IN \(\({_PARAMETER}"
    if re.search(by_one, statement) or re.search(by_pairs, statement):
        return True
    source = rf"FROM (?:ledger\.)?{table} (?:AS )?{alias}"
    fenced = re.search(rf"\bSELECT {alias}\.namespace_id\b[^()]* {source} .*? OFFSET 0 ?\) AS (\w+)", statement)
    on_result = rf"\b{fenced[1]}\.namespace_id = (?:ANY ?\()?{_PARAMETER}" if fenced else ""
    return bool(alias and fenced and re.search(on_result, statement))


def _text(*paths: Path) -> str:
    return "\n".join(path.read_text() for path in paths)
