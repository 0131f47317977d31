"""Print tables for people and JSON for programs, both without control characters."""

import json
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import Any, Final

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from ledger.cli.table_layout import table
from ledger.errors import InvalidInput, LedgerError
from ledger.events.names import is_visible

STYLES: Final = {"user": "bold cyan", "assistant": "green", "tool": "yellow", "system": "magenta"}


def safe(text: str, *, width: int | None = None) -> str:
    """Return *text* with control and invisible characters escaped (trust I-34, I-59), cut to *width*."""
    shown = "".join(character if is_visible(character) else _escaped(character) for character in text)
    if width is not None and len(shown) > width:
        return shown[: width - 1] + "…"
    return shown


def one_line(text: str, width: int) -> str:
    """Return the beginning of *text* on one line."""
    return safe(" ".join(text[: width * 4].split()), width=width)


def safe_json(text: str, *, ascii_only: bool = False) -> str:
    """Return JSON with control and invisible characters, which only its strings contain, as escapes."""
    if text.isascii() and "\x7f" not in text:
        return text  # all others below U+0080 are escaped in any JSON
    return "".join(
        character if is_visible(character) and not (ascii_only and character > "\x7f") else _json_escaped(character)
        for character in text
    )


def _json_escaped(character: str) -> str:
    units = character.encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[at : at + 4]}" for at in range(0, len(units), 4))


def _escaped(character: str) -> str:
    return f"\\x{ord(character):02x}" if ord(character) < 256 else f"\\u{{{ord(character):x}}}"


def _encoded(value: Any, *, indent: int = -1) -> str:
    """Return *value* as JSON, on one line without *indent*; a file name that is no Unicode with escapes."""
    try:
        return msgspec.json.format(msgspec.json.encode(value, enc_hook=_plain), indent=indent).decode()
    except UnicodeEncodeError:
        return json.dumps(msgspec.to_builtins(value, enc_hook=_plain), indent=None if indent < 0 else indent)


class _Console(Console):
    """A console that lets the command handle a closed pipe."""

    def on_broken_pipe(self) -> None:
        """Raise the error; Rich would end the program with code 1."""
        raise BrokenPipeError


class Output:
    """Standard output, for people or as JSON; progress and errors go to standard error."""

    def __init__(self, *, json: bool) -> None:
        self.json = json
        plain: dict[str, Any] = {"highlight": False, "markup": False, "emoji": False}  # print names as they are
        self.console = _Console(**plain, soft_wrap=not sys.stdout.isatty())
        self.errors = Console(**plain, stderr=True)
        self._ascii_only = self.console.encoding != "utf-8"

    def result(self, value: Any, show: Callable[[], None]) -> None:
        """Print *value* with ``--json``, else call *show*."""
        if self.json:
            self.document(value)
        else:
            show()

    def document(self, value: Any) -> None:
        """Print *value* as JSON over many lines."""
        text = _encoded(value, indent=2)
        print(safe_json(text, ascii_only=self._ascii_only))

    def line(self, value: Any) -> None:
        """Print *value* as one line of JSON, for output that continues."""
        text = _encoded(value)
        print(safe_json(text, ascii_only=self._ascii_only), flush=True)

    def say(self, text: str = "", style: str = "") -> None:
        """Print *text*, which may contain user content."""
        self.console.print(Text(safe(text), style=style))

    def tell(self, text: str, style: str = "") -> None:
        """Print as `say` does, except with ``--json``."""
        if not self.json:
            self.say(text, style)

    @property
    def width(self) -> int | None:
        """The width of the terminal; None if the output goes elsewhere."""
        return self.console.width if self.console.is_terminal else None

    def table(self, columns: Sequence[str], rows: Sequence[Sequence[str | Text]]) -> None:
        """Print a table as `tables.table` lays it out."""
        self.lines(table(columns, rows, self.width))

    def lines(self, lines: Iterable[Text]) -> None:
        """Print *lines*, which the terminal may wrap."""
        for line in lines:
            self.console.print(line, soft_wrap=True)

    def error(self, fault: LedgerError) -> None:
        """Print one line on standard error."""
        if self.json:
            field = safe(fault.field) if isinstance(fault, InvalidInput) else None
            known = {"code": fault.code, "message": safe(str(fault)), "field": field or None}
            print(msgspec.json.encode({"error": known}).decode(), file=sys.stderr)
        else:
            message = safe(str(fault)).replace("\n", "\\n").replace("\t", "\\t")
            self.errors.print(Text(f"memory-ledger: {message}"), soft_wrap=True)

    def warn(self, text: str) -> None:
        """Print what is to be known about the result on standard error."""
        if self.json:
            print(msgspec.json.encode({"warning": safe(text)}).decode(), file=sys.stderr)
        else:
            self.note(text)

    def note(self, text: str) -> None:
        """Print a remark on standard error, except with ``--json``."""
        if not self.json:
            self.errors.print(Text(f"memory-ledger: {safe(text)}"), soft_wrap=True)

    @contextmanager
    def progress(self, what: str, unit: str) -> Iterator[Callable[[int, int], None]]:
        """Show a bar on standard error, if that is a terminal; yield a function that takes (done, all)."""
        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TextColumn(unit),
            TimeElapsedColumn(),
        )
        with Progress(*columns, console=self.errors, transient=True, disable=not sys.stderr.isatty()) as progress:
            task = progress.add_task(what, total=None, visible=False)  # until there is progress
            yield lambda done, total: progress.update(task, completed=done, total=total, visible=True)


def counted(number: int, what: str) -> str:
    """Return *number* with the name of *what* is counted, such as ``1 entry`` or ``2,000 entries``."""
    plural = f"{what[:-1]}ies" if what.endswith(("ry", "ty")) else f"{what}s"
    return f"{number:,} {what if number == 1 else plural}"


def moment(value: datetime | None) -> str:
    """Return *value* for people, in UTC."""
    return f"{value:%Y-%m-%d %H:%M:%S}" if value else ""


def _plain(value: Any) -> Any:
    if hasattr(value, "model_dump"):
        return value.model_dump(mode="json")
    if hasattr(value, "__iter__"):
        return list(value)
    raise NotImplementedError(f"{type(value).__name__} has no JSON form")
