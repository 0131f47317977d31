"""The application: the options of every command, errors as one line, signals as exit codes.

Exit codes: 0 done; 1 the database or a model is not available; 2 refused; 3 and 4 of ``doctor``; 10 to 41 of
``verify`` (trust §12); 130 interrupted; 143 terminated.
"""

import inspect
import os
import sys
from collections.abc import Awaitable, Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from contextvars import ContextVar
from functools import wraps
from importlib import import_module
from typing import Annotated, Any, Final, TypeVar, cast

import anyio
import typer
from typer.core import TyperGroup

from ledger.cli.command_table import ALONE, OPTIONS, help_text, modules
from ledger.cli.exit_codes import REFUSED, exit_code_of
from ledger.cli.output import Output
from ledger.errors import InvalidInput, LedgerError, Unavailable
from ledger.indexes.stored_projections.staleness import collected
from ledger.release import RELEASE
from ledger.settings import Settings, load_settings

F = TypeVar("F", bound=Callable[..., None])
R = TypeVar("R")

UNAVAILABLE: Final = 1

#: What Typer raises for wrong arguments; only a subclass of it is public.
_UsageError: Final = cast(type[Exception], typer.BadParameter.__mro__[1])

_PANEL: Final[Any] = {"rich_help_panel": "Options of every command"}
_JSON = Annotated[bool, typer.Option("--json", help=OPTIONS["--json"], **_PANEL)]
_URL = Annotated[
    str | None, typer.Option("--database-url", metavar="URL", help=OPTIONS["--database-url URL"], **_PANEL)
]
_DIR = Annotated[str | None, typer.Option("--data-dir", metavar="DIR", help=OPTIONS["--data-dir DIR"], **_PANEL)]
_NAMESPACE = Annotated[
    str | None, typer.Option("--namespace", metavar="NAME", help=OPTIONS["--namespace NAME"], **_PANEL)
]


class Options:
    """The common options, given before or after the command's name, and the output."""

    def __init__(self) -> None:
        self.actor = "cli"
        self._given: dict[str, Any] = {}
        self._output: Output | None = None

    def note(self, **given: Any) -> None:
        """Store the options that were given; an empty name counts as given and is refused later."""
        self._given.update({name: value for name, value in given.items() if value is not None and value is not False})

    @property
    def output(self) -> Output:
        """The output to print to."""
        if self._output is None:
            self._output = Output(json=self._given.get("json", False))
        return self._output

    def refuse(self, names: Collection[str], *, why: str) -> None:
        """Refuse the options with these *names*, if they were given.

        Raises:
            InvalidInput: ``bad_arguments``.
        """
        for name in names:
            if name in self._given:
                raise InvalidInput("bad_arguments", f"must not be given: {why}", field=f"--{name.replace('_', '-')}")

    @property
    def namespace(self) -> str | None:
        """The namespace that was given; None if it is the default."""
        return self._given.get("namespace")

    @property
    def settings(self) -> Settings:
        """The environment's settings, overridden by the options; the actor of events is `actor` by default."""
        given = {name: value for name, value in self._given.items() if name != "json"}
        if "data_dir" in given:
            self.refuse({"database_url"} & given.keys(), why="--data-dir names another database")
        return load_settings(**given, actor=os.environ.get("MEMORY_LEDGER_ACTOR") or self.actor)


_current: ContextVar[Options] = ContextVar("options")


class _Loaded(Mapping[str, Any]):
    """The commands and groups for click; reading one imports only its module."""

    def __getitem__(self, name: str) -> Any:
        for full, module in modules().items():
            if full.split()[0] == name:
                import_module(f"ledger.cli.{module}")
        if name in _groups:
            return typer.main.get_command(_groups[name])
        for registered in app.registered_commands:
            if registered.name == name:
                alone = typer.Typer(add_completion=False)
                alone.registered_commands.append(registered)
                return typer.main.get_command(alone)
        raise KeyError(name)

    def __iter__(self) -> Iterator[str]:
        yield from dict.fromkeys(full.split()[0] for full in modules())

    def __len__(self) -> int:
        return len({full.split()[0] for full in modules()})


class _Commands(TyperGroup):
    """All commands; wrong arguments are reported like any other error, in one line (trust N-13)."""

    def __init__(self, **attributes: Any) -> None:
        super().__init__(**{**attributes, "commands": _Loaded()})

    def format_help(self, ctx: Any, formatter: Any) -> None:
        formatter.write(help_text())

    def main(self, args: Sequence[str] | None = None, *others: Any, **extra: Any) -> Any:
        given = sys.argv[1:] if args is None else list(args)
        _current.set(Options())
        options().note(json="--json" in given)
        try:
            code = super().main(given, *others, **{**extra, "standalone_mode": False})
        except _UsageError as fault:
            if type(fault).__name__ != "NoArgsIsHelpError":  # it has shown the help
                options().output.error(_as_ours(fault))
            code = REFUSED
        sys.exit(code or 0)


def _as_ours(fault: Any) -> InvalidInput:
    command = fault.ctx.command_path if fault.ctx else "memory-ledger"
    message = " ".join(fault.format_message().split()).rstrip(".")
    return InvalidInput("bad_arguments", f"{message}; see `{command} --help`")


app = typer.Typer(
    cls=_Commands,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


class _ShowByDefault(TyperGroup):
    """A group whose command ``show`` may be left out: ``config SESSION`` is ``config show SESSION``."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        asks = args and args[0] not in {*self.commands, *ctx.help_option_names}
        return super().parse_args(ctx, ["show", *args] if asks or not args else args)


def _group(name: str, summary: str) -> typer.Typer:
    return typer.Typer(name=name, help=summary, no_args_is_help=True, add_completion=False)


db = _group("db", "The database: start, stop, status, upgrade, login, restore, prune.")
projections = _group("projections", "The tables that are computed from the log: list, status, rebuild.")
jobs = _group("jobs", "Background work: list, retry.")
token = _group("token", "API tokens of the service: add, list, revoke.")
entry = _group("entry", "One entry: show, edit, remove, pop, restore.")
kept = _group("kept", "Values beside the window: list, get, set, remove.")
config = typer.Typer(name="config", help="Memory configs: show, check.", cls=_ShowByDefault, add_completion=False)
_groups: Final = {
    "entry": entry,
    "kept": kept,
    "config": config,
    "db": db,
    "projections": projections,
    "jobs": jobs,
    "token": token,
}


@app.callback(invoke_without_command=True)
def _root(
    context: typer.Context,
    json: _JSON = False,
    database_url: _URL = None,
    data_dir: _DIR = None,
    namespace: _NAMESPACE = None,
    version: Annotated[bool, typer.Option("--version", help=ALONE["--version"])] = False,
) -> None:
    options().note(json=json, database_url=database_url, data_dir=data_dir, namespace=namespace)
    if version:
        print(RELEASE)
        raise typer.Exit
    if context.invoked_subcommand is None:
        raise _UsageError("Missing command", context)


def command(group: typer.Typer, name: str | None = None, *, unused: Collection[str] = ()) -> Callable[[F], F]:
    """Register a function as a command of *group* that also takes the common options, but refuses the *unused* ones.

    Our errors become one line on standard error and an exit code.
    """

    def register(function: F) -> F:
        @wraps(function)
        def wrapped(
            *args: Any,
            json: bool,
            database_url: str | None,
            data_dir: str | None,
            namespace: str | None,
            **kwargs: Any,
        ) -> None:
            options().note(json=json, database_url=database_url, data_dir=data_dir, namespace=namespace)

            def work() -> None:
                options().refuse(unused, why="this command does not use it")
                try:
                    function(*args, **kwargs)
                except InvalidInput as fault:
                    raise _with_name(fault, kwargs) from None

            code = _execute(work)
            if code:
                raise typer.Exit(code)

        common = {
            "json": (_JSON, False),
            "database_url": (_URL, None),
            "data_dir": (_DIR, None),
            "namespace": (_NAMESPACE, None),
        }
        signature = inspect.signature(function)
        extra = [
            inspect.Parameter(each, inspect.Parameter.KEYWORD_ONLY, annotation=annotation, default=default)
            for each, (annotation, default) in common.items()
        ]
        wrapped.__signature__ = signature.replace(parameters=[*signature.parameters.values(), *extra])  # type: ignore[attr-defined]  # what Typer reads
        group.command(name or function.__name__)(wrapped)
        return function

    return register


def _with_name(fault: InvalidInput, arguments: Mapping[str, Any]) -> InvalidInput:
    """Return *fault*; one about an id that is no name also says by which name adapters store such an id."""
    from ledger.adapters.foreign_names import name_of  # noqa: PLC0415 - rare

    given = {"session_id": arguments.get("session"), "user_id": arguments.get("user")}.get(fault.field)
    if fault.code == "bad_name" and given and given[0] != "~" and name_of(given) != given:  # else it is no such id
        fault.args = (f"{fault}; an adapter of an SDK stores this id as {name_of(given)}",)
    return fault


def options() -> Options:
    """Return the options of the running command."""
    return _current.get()


def run(work: Callable[[], Awaitable[R]]) -> R:
    """Run *work*; an interruption cancels it. Afterwards say how old its answers are, if they are not of now."""
    with collected() as notices:
        done = anyio.run(work)
    for text in notices:
        options().output.warn(text)
    return done


def _execute(work: Callable[[], None]) -> int:
    """Run *work* and return its exit code."""
    try:
        work()
        sys.stdout.flush()
    except LedgerError as fault:
        options().output.error(fault)
        return UNAVAILABLE if isinstance(fault, Unavailable) else REFUSED
    except BrokenPipeError:  # the reader stopped reading
        _drop_output()
    except KeyboardInterrupt as interruption:
        print(file=sys.stderr)
        return exit_code_of(interruption)
    except OSError as fault:  # of this machine, such as a full disk
        _drop_output()
        options().output.error(Unavailable(os.strerror(fault.errno or 0)))
        return UNAVAILABLE
    return 0


def _drop_output() -> None:
    """Discard what is not printed yet."""
    with suppress(OSError):  # it may not be a file
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
