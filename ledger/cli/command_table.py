"""The table of all commands, from which the help is built; it imports nothing, so that ``--help`` is quick."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: Section of the help → command → its module in this package, and the first line of its docstring.
COMMANDS = {
    "Write": {
        "add": ("add", "Add an entry, or a batch of entries, to a session; the first one starts a new session."),
        "compress": ("session_commands", "Compact now: old entries leave the window, and a summary replaces them."),
        "clear": ("session_commands", "Empty the window and the summaries; the history keeps everything."),
        "config show": ("config_commands", "Print a session's memory config, or change it first with --set or --file."),
        "adopt": (
            "what_if_commands",
            "Set a session's whole memory config; with --rebuild, for its whole history.",
        ),
        "entry edit": (
            "entry_commands",
            "Replace the text of an entry in the window; the old text stays in its history.",
        ),
        "entry remove": (
            "entry_commands",
            "Remove an entry and the rest of its answer from the window; history stays.",
        ),
        "entry pop": ("entry_commands", "Remove the newest entry of the transcript, compacted or not, and print it."),
        "entry restore": (
            "entry_commands",
            "Undo the newest edit of an entry, or bring one back that was removed or cleared.",
        ),
        "kept set": ("key_value_commands", "Store a value under a key beside the window, which no model sees."),
        "kept remove": ("key_value_commands", "Hide the value of a key; the history keeps it."),
        "fork": ("session_commands", "Start a new session from another one, as it is now or was earlier."),
    },
    "Read": {
        "sessions": ("sessions_commands", "List the sessions with their versions, entries, summaries and tokens."),
        "family": ("sessions_commands", "List a session, those it was forked from, and all forks of these."),
        "show": ("show_commands", "Show all entries: what is in the window, and which summary covers the rest."),
        "transcript": (
            "entry_commands",
            "Print the newest entries, compacted or not, without reading the whole session.",
        ),
        "context": ("show_commands", "Print what the model is shown."),
        "window": ("window_commands", "List what the model is shown item by item, and count what is hidden."),
        "find": (
            "window_commands",
            "Find exact text in the entries and summaries of a session, whatever became of them.",
        ),
        "entry show": ("entry_commands", "Show an entry, what became of it, and every change of it."),
        "kept list": ("key_value_commands", "List the values that are kept beside the window, by key."),
        "kept get": ("key_value_commands", "Print the value of a key, or write its bytes to a file."),
        "timeline": ("timeline_command", "List the events in order: what happened, when, and to what."),
        "stats": ("show_commands", "Count entries, summaries and tokens."),
        "view": ("view", "Look at a session, a transcript or all sessions in a browser, or write one HTML file."),
        "search": ("search_command", "Search everything that was ever said, in the window or not, and the summaries."),
    },
    "Explain and prove": {
        "seen": (
            "audit_commands",
            "Show what the model saw, prove it by its recorded digest, and name each line's source.",
        ),
        "derived": (
            "audit_commands",
            "List what an entry reached: summaries, directly or through others, and contexts.",
        ),
        "diff": (
            "what_if_commands",
            "Compare what the model was, or would be, shown at two versions or configs, and the cost.",
        ),
        "config check": (
            "config_commands",
            "Say what is probably wrong with a memory config, by itself or on a session.",
        ),
        "what-if": (
            "what_if_commands",
            "Show what the model would see under another config or without an entry; writes nothing.",
        ),
        "backtest": (
            "backtest",
            "Try memory configs on recorded sessions and compare tokens, summaries and evidence shown.",
        ),
        "verify": ("verify", "Recompute every hash and check every position; list what is not as it was written."),
    },
    "Move": {
        "import": (
            "import_files",
            "Record transcripts of other systems, or copy exports; what exists already is skipped.",
        ),
        "import-ams": (
            "import_ams",
            "Import the sessions and long-term memory of a Redis Agent Memory Server from its API.",
        ),
        "export": ("export", "Write a session, or all of them, to a file, which appears complete or not at all."),
    },
    "Run": {
        "demo": ("demo", "Show the main job on an example transcript, in a temporary embedded PostgreSQL."),
        "serve": ("server_commands", "Serve the working-memory API and the native API over HTTP, until interrupted."),
        "mcp": (
            "server_commands",
            "Serve the Model Context Protocol to one client over standard input and output, until it closes them.",
        ),
        "worker": (
            "worker_commands",
            "Do background work until interrupted: in every namespace, unless --namespace names one.",
        ),
        "doctor": (
            "doctor_command",
            "Check settings, roles, guards and versions; say which promise is weaker here, and why.",
        ),
    },
    "Background jobs": {
        "jobs list": (
            "worker_commands",
            "List the jobs of a namespace that are left to do, with their attempts and errors.",
        ),
        "jobs retry": ("worker_commands", "Retry the dead jobs of a namespace."),
    },
    "Stored projections": {
        "projections list": ("projections", "List the stored projections: name, version and what each is for."),
        "projections status": (
            "projections",
            "Show each build: its progress, whether readers use it, and whether this code built it.",
        ),
        "projections rebuild": (
            "projections",
            "Build stored projections again from the log; readers use the old build until it is done.",
        ),
    },
    "Database": {
        "db start": ("database", "Start the embedded server, and create its database if there is none."),
        "db stop": ("database", "Stop the embedded server; the next command that needs it starts it again."),
        "db status": ("database", "Show whether the embedded server runs, where, and its PostgreSQL version."),
        "db upgrade": ("database", "Bring the schema to the newest revision; needs a login that may act as its owner."),
        "db login": (
            "database",
            "Create the application's login or change its password, to MEMORY_LEDGER_LOGIN_PASSWORD.",
        ),
        "db restore": ("database", "Restore an exported namespace, byte for byte; one of that name must not exist."),
        "db index": (
            "database",
            "Index the vectors of large namespaces; needs a login that may act as the schema's owner.",
        ),
        "db prune": ("database", "Delete old idempotency keys; no event changes."),
    },
    "Tokens of the service": {
        "token add": ("token_commands", "Create a token and show it once; needs the login that migrates."),
        "token list": ("token_commands", "List the tokens without their secrets; needs the login that migrates."),
        "token revoke": (
            "token_commands",
            "Revoke a token, within five seconds in every service; needs the login that migrates.",
        ),
    },
}

#: The options of every command.
OPTIONS = {
    "--json": "Print JSON with documented, stable keys.",
    "--database-url URL": "A PostgreSQL server of your own.",
    "--data-dir DIR": "The folder of the embedded server's files.",
    "--namespace NAME": "Isolates and orders sessions.",
    "-h, --help": "Show this message and exit.",
}
#: Those that stand alone.
ALONE = {
    "--install-completion": "Let the shell complete commands and options.",
    "--show-completion": "Print the shell's script for that.",
    "--version": "Print the version and exit.",
}
_HEAD = """\
Usage: memory-ledger [OPTIONS] COMMAND [ARGS]...

The memory of AI agents as a log of events: nothing is ever overwritten.
`memory-ledger COMMAND --help` lists the arguments and options of a command.
"""
_COLUMN = 24
_WIDTH = 80


def modules() -> dict[str, str]:
    """Return the module of each command, by its full name such as ``db start``."""
    return {name: module for section in COMMANDS.values() for name, (module, _) in section.items()}


def help_text() -> str:
    """Return what ``memory-ledger --help`` prints."""
    lines = [_HEAD, "Options, before or after the command:"]
    for option, meaning in OPTIONS.items():
        lines.extend(_row(option, meaning))
    lines += ["", "Without a command:"]
    for option, meaning in ALONE.items():
        lines.extend(_row(option, meaning))
    for section, commands in COMMANDS.items():
        lines += ["", f"{section}:"]
        for name, (_, summary) in commands.items():
            lines.extend(_row(name, summary))
    return "\n".join(lines) + "\n"


def _row(name: str, text: str) -> Iterator[str]:
    """Yield *text* beside *name*, wrapped (`textwrap` would take longer to import than all this)."""
    line = f"  {name}".ljust(_COLUMN)
    for word in text.split():
        if len(line) + len(word) >= _WIDTH:
            yield line.rstrip()
            line = " " * _COLUMN
        line += f"{word} "
    yield line.rstrip()
