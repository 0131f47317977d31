"""Every command with arguments it accepts, and the check that a command was refused in one line."""

from pathlib import Path

from tests.cli.conftest import Ran

CONFIG = str(Path(__file__).parents[2] / "examples" / "configs" / "full.json")

#: The arguments of every command with a session, after the session.
WITH_SESSION = {
    "add": ["hello"],
    "show": [],
    "view": ["--no-browser"],
    "timeline": [],
    "context": [],
    "stats": [],
    "family": [],
    "window": [],
    "find": ["text"],
    "diff": ["1", "2"],
    "what-if": ["--without", "e"],
    "adopt": ["--config", CONFIG],
    "seen": [],
    "derived": ["1"],
    "compress": [],
    "clear": [],
    "transcript": [],
    "kept list": ["plan"],
    "kept get": ["plan", "k"],
    "kept set": ["plan", "k", "1"],
    "kept remove": ["plan", "k"],
    "entry pop": [],
    "config show": [],
    "verify": [],
    "export": [],
}
COMMANDS = {
    **{name: [*name.split(), "s", *rest] for name, rest in WITH_SESSION.items()},
    "import": ["import", "transcript.json"],
    "import-ams": ["import-ams", "http://127.0.0.1:1"],
    "config check": ["config", "check", CONFIG, "--session", "s"],
    "fork": ["fork", "s", "t"],
    **{f"entry {name}": ["entry", name, "s", "e"] for name in ("show", "remove", "restore")},
    "entry edit": ["entry", "edit", "s", "e", "text"],
    "worker": ["worker", "--once"],
    "jobs list": ["jobs", "list"],
    "jobs retry": ["jobs", "retry"],
    "sessions": ["sessions"],
    "search": ["search", "hello"],
    "backtest": ["backtest", "--config", CONFIG],
    **{f"projections {name}": ["projections", name] for name in ("list", "status", "rebuild")},
    "doctor": ["doctor"],
    "demo": ["demo"],
    "mcp": ["mcp", "--http", "0"],
    "serve": ["serve", "--port", "0"],
    "token add": ["token", "add", "ann"],
    "token list": ["token", "list"],
    "token revoke": ["token", "revoke", "k"],
    "db start": ["db", "start"],
    "db stop": ["db", "stop"],
    "db status": ["db", "status"],
    "db upgrade": ["db", "upgrade"],
    "db login": ["db", "login", "app"],
    "db restore": ["db", "restore", "transcript.json"],
    "db index": ["db", "index"],
    "db prune": ["db", "prune"],
}
EMBEDDED_ONLY = ("db start", "db stop", "db status")
#: The commands that connect to a database; `db login` needs a password first and is tested apart.
CONNECTING = [name for name in COMMANDS if name not in {"demo", "db login", *EMBEDDED_ONLY}]


def check_one_line(ran: Ran, code: int = 2) -> str:
    """Assert that a command ended with *code* and one line on standard error; return the message."""
    assert ran.code == code, ran
    assert ran.out == ""
    assert ran.err.endswith("\n")
    (line,) = ran.err[:-1].split("\n")
    assert line.startswith("memory-ledger: ")
    assert "Traceback" not in line
    assert line.isprintable()
    return line.removeprefix("memory-ledger: ")
