"""The table of all commands, which the help is made of; quick to import, so that ``--help`` is quick."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

#: By section of the help: each command's name, its module in this package, and the first line of its docstring.
COMMANDS = {
    "Write": {
        "add": (
            "add",
            "Add an entry to a session, or a batch of entries; a new session is opened by its first one.",
        ),
        "compress": ("session_commands", "Compact now: old entries leave the window, a summary stands for them."),
        "clear": ("session_commands", "Empty window and summaries; history, which never goes, keeps all of it."),
        "config": ("session_commands", "Print a session's memory config, after changing it if asked to."),
        "adopt": ("what_if", "Let a whole memory config be the session's from now on; what is covered stays so."),
        "fork": ("session_commands", "Begin a session as another one is, or was; from there both go on by themselves."),
    },
    "Read": {
        "sessions": ("session_reads", "List the sessions: versions, entries, what is active, summaries, tokens."),
        "show": (
            "session_reads",
            "Show the transcript: what is in the window, and which summary stands for what is not.",
        ),
        "context": ("session_reads", "Print what the model is shown."),
        "timeline": ("session_reads", "List the events in order: what happened, when, and to what."),
        "stats": ("session_reads", "Count entries, summaries and tokens."),
        "search": ("search", "Find what was ever said: in the window, covered by summaries, and in the summaries."),
    },
    "Explain and prove": {
        "seen": (
            "audit",
            "Show what the model saw, prove it by its recorded digest, and say where each line came from.",
        ),
        "derived": (
            "audit",
            "List everything an entry reached: summaries, through any number of them, and recorded contexts.",
        ),
        "diff": (
            "what_if",
            "Tell what the model was, or would be, shown on one side and not on the other, and at which price.",
        ),
        "what-if": (
            "what_if",
            "Tell what the model would be shown under another config, or had an entry never been; writes nothing.",
        ),
        "backtest": (
            "backtest",
            "Try memory configs on recorded sessions: tokens shown, summaries needed, evidence kept; writes no event.",
        ),
        "verify": ("verify", "Recompute every hash and check every place; say what is not as it was written."),
    },
    "Move": {
        "import": (
            "import_export",
            "Record transcripts of other systems, or copy exports; what is there already is left alone.",
        ),
        "import-ams": (
            "import_ams",
            "Take over the sessions and long-term memory of a Redis Agent Memory Server, through its API.",
        ),
        "export": ("import_export", "Write a session, or all of them, to a file; it appears whole or not at all."),
    },
    "Run": {
        "demo": (
            "demo",
            "Run the main job on an example transcript, on an embedded PostgreSQL that is thrown away afterwards.",
        ),
        "serve": ("serve", "Serve the working-memory API and our own over HTTP, until interrupted."),
        "worker": (
            "worker",
            "Do background work until interrupted: in every namespace, unless --namespace names one.",
        ),
        "doctor": ("doctor", "Check settings, roles, guards and versions; say which promise is weaker here, and why."),
    },
    "Background jobs": {
        "jobs list": (
            "worker",
            "List what is left to do in the background of a namespace, and what became of it so far.",
        ),
        "jobs retry": ("worker", "Let what was given up in a namespace be tried again."),
    },
    "Stored projections": {
        "projections list": ("projections", "List the stored projections there are: name, version, what each is for."),
        "projections status": (
            "projections",
            "Tell of each build how far it is, whether readers use it, and whether this release's code made it.",
        ),
        "projections rebuild": (
            "projections",
            "Build stored projections anew from the log; readers use the old build until the new one is whole.",
        ),
    },
    "Database": {
        "db start": ("database", "Start the embedded server, making its database if there is none."),
        "db stop": ("database", "Stop the embedded server; the next command that needs it starts it again."),
        "db status": ("database", "Tell whether the embedded server runs, where, and which PostgreSQL it is."),
        "db upgrade": ("database", "Bring the schema to the newest revision; needs a login that may act as its owner."),
        "db login": (
            "database",
            "Make a login for the application, with the password in MEMORY_LEDGER_LOGIN_PASSWORD, or change that.",
        ),
        "db restore": (
            "database",
            "Put an exported namespace back, every byte as it was, where nothing of that name is.",
        ),
        "db prune": ("database", "Forget requests that nobody will repeat any more; no event is touched."),
    },
    "Tokens of the service": {
        "token add": ("tokens", "Make a token and show it, this once; needs the login that migrates."),
        "token list": ("tokens", "List the tokens, without their secrets; needs the login that migrates."),
        "token revoke": (
            "tokens",
            "Revoke a token; within five seconds no service takes it any more. Needs the login that migrates.",
        ),
    },
}

#: The options of every command.
OPTIONS = {
    "--json": "Print JSON with documented, stable keys.",
    "--database-url URL": "A PostgreSQL server of your own.",
    "--data-dir DIR": "Where the embedded server keeps its files.",
    "--namespace NAME": "Isolates and orders sessions.",
    "--version": "Print the version and exit.",
    "-h, --help": "Show this message and exit.",
}
_HEAD = """\
Usage: memory-ledger [OPTIONS] COMMAND [ARGS]...

The memory of AI agents, kept the way a bank keeps money: nothing is ever overwritten.
`memory-ledger COMMAND --help` lists the arguments and options of a command.
"""
_COLUMN = 22
_WIDTH = 80


def modules() -> dict[str, str]:
    """Return the module of each command, by its full name such as ``db start``."""
    return {name: module for section in COMMANDS.values() for name, (module, _) in section.items()}


def help_text() -> str:
    """Return what ``memory-ledger --help`` prints."""
    lines = [_HEAD, "Options, before or after the command:"]
    for option, meaning in OPTIONS.items():
        lines.extend(_row(option, meaning))
    for section, commands in COMMANDS.items():
        lines += ["", f"{section}:"]
        for name, (_, summary) in commands.items():
            lines.extend(_row(name, summary))
    return "\n".join(lines) + "\n"


def _row(name: str, text: str) -> Iterator[str]:
    """Yield *text* beside *name*, in lines that are not too long (`textwrap` takes longer to import than all this)."""
    line = f"  {name}".ljust(_COLUMN)
    for word in text.split():
        if len(line) + len(word) >= _WIDTH:
            yield line.rstrip()
            line = " " * _COLUMN
        line += f"{word} "
    yield line.rstrip()
