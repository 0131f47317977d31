"""What people said cannot drive a terminal, and JSON says it exactly. Source: trust I-34, I-35, I-58, I-59."""

import json
import os
from collections.abc import Callable
from typing import Any

import pytest

from ledger.cli.output import safe_json
from tests.cli.conftest import Cli

ESCAPES = {
    "a title": "\x1b]0;pwn\x07",
    "a clear": "\x1b[2J\x1b[H",
    "C1": "\x9b2J\x9d0;pwn\x9c",
    "backspace": "safe\x08\x08\x08\x08evil",
    "carriage return": "safe\revil",
    "DEL": "a\x7fb",
    "right to left": "\u202egnp.exe",
    "zero width": "a\u200bb\u2060c\ufeffd",
    "tags": "\U000e0041\U000e007f",
    "isolates": "\u2066x\u2069",
    "form feed": "a\x0c\x0bb",
}
EVIL = " ".join(ESCAPES.values())


def hidden_in(text: str) -> list[str]:
    """Return the characters of *text* that a terminal would obey or not show."""
    shown = {"\n", "\u00a0", "\u202f", "\u3000"}
    return sorted({character for character in text if not character.isprintable() and character not in shown})


@pytest.fixture
def evil(cli: Cli) -> Cli:
    """A session with escapes wherever a caller may put text."""
    entries = [
        {"role": "user", "content": EVIL, "metadata": {EVIL[:60]: EVIL}, "data": EVIL},
        {"kind": "tool_call", "tool_name": EVIL, "tool_call_id": EVIL, "arguments": {"a": EVIL}},
        {"kind": "tool_result", "tool_name": EVIL, "tool_call_id": EVIL, "content": EVIL},
        {"kind": "context", "content": EVIL, "metadata": {"source": EVIL}},
        {"role": "user", "content": "plain"},
    ]
    cli("add", "s", "--file", "-", input=json.dumps(entries))
    cli(
        "config",
        "s",
        "--set",
        "recentWindow=1",
        "--set",
        "minEntriesToCompress=1",
        "--set",
        f"prompt={EVIL}{{content}}",
    )
    return cli


PRINTING: dict[str, list[str]] = {
    "show": ["show", "s"],
    "show --full": ["show", "s", "--full", "--all"],
    "timeline": ["timeline", "s"],
    "context": ["context", "s"],
    "context as messages": ["context", "s", "--format", "messages"],
    "context as rolling": ["context", "s", "--format", "rolling"],
    "diff": ["diff", "s", "1", "6"],
    "config": ["config", "s"],
    "sessions": ["sessions"],
    "stats": ["stats", "s"],
    "verify": ["verify", "s"],
    "compress": ["compress", "s", "--force"],
}


@pytest.mark.parametrize("name", PRINTING)
def test_no_command_prints_what_a_terminal_obeys__I_59(evil: Cli, name: str) -> None:
    ran = evil(*PRINTING[name])
    assert ran.out
    assert hidden_in(ran.out) == []
    if name in {"show --full", "context", "timeline"}:
        assert r"\x1b]0;pwn\x07" in ran.out, "shown escaped, not left out"
    if name in {"show --full", "context"}:
        assert r"\x9b2J" in ran.out
        assert r"\u{202e}gnp.exe" in ran.out
    if name in {"context as messages", "config"}:
        assert r"\u001b]0;pwn\u0007" in ran.out
        assert r"\u009b2J" in ran.out


@pytest.mark.parametrize("name", PRINTING)
def test_nor_does_its_json__I_59(evil: Cli, name: str) -> None:
    ran = evil(*PRINTING[name], "--json")
    assert hidden_in(ran.out) == []
    assert json.loads(ran.out)


@pytest.mark.parametrize("name", ["compressed", "diffed", "shown"])
def test_nor_is_it_printed_out_of_a_summary__I_59(evil: Cli, name: str) -> None:
    evil("compress", "s", "--force")
    arguments = {"compressed": ["context", "s"], "diffed": ["diff", "s", "6", "9"], "shown": ["show", "s"]}
    out = evil(*arguments[name]).out
    assert "Previous conversation summary" in out
    assert hidden_in(out) == []


def test_the_search_for_hidden_characters_finds_each_of_them() -> None:
    """Negative control."""
    for name, text in ESCAPES.items():
        assert hidden_in(text), name
    assert hidden_in("plain 日本語 👍 é\n") == []


JSON: dict[str, Callable[[Any], list[str]]] = {
    "show": lambda value: [entry["content"] for entry in value["entries"]],
    "timeline": lambda value: [e["payload"]["content"] for e in value["events"] if e["type"] == "entry.added"],
    "context": lambda value: [message["content"] for message in value["messages"]],
}

EXACT = [
    *ESCAPES.values(),
    EVIL,
    "é",
    "e\u0301",
    "a\r\nb\tc\n",
    "\\x1b \\u001b \"quoted\" 'and' `ticks`",
    "<script>alert(1)</script> [bold]x[/bold] :smile: ",
    "👩\u200d👩\u200d👧 \U0010fffd \ufffe",
    "\u00a0\u202f\u3000x",
    "$(rm -rf /) `id` %s {content}",
]


@pytest.mark.parametrize("name", JSON)
def test_json_gives_every_text_back_exactly(cli: Cli, name: str) -> None:
    batch = [{"role": "user", "content": text} for text in EXACT]
    cli("add", "s", "--file", "-", input=json.dumps(batch))
    assert JSON[name](cli.json(name, "s")) == EXACT


def test_a_text_given_as_an_argument_is_stored_exactly(cli: Cli) -> None:
    for text in EXACT:
        cli("add", "s", text)
    assert JSON["show"](cli.json("show", "s")) == EXACT


def test_an_export_gives_every_text_back_exactly(cli: Cli) -> None:
    batch = [{"role": "user", "content": text} for text in EXACT]
    cli("add", "s", "--file", "-", input=json.dumps(batch))
    other = cli.elsewhere(f"{cli.namespace}-copy")
    other("import", "-", input=cli("export", "s").out)
    assert JSON["show"](other.json("show", "s")) == EXACT
    state = json.loads(cli("export", "s", "--format", "state").out)
    assert [entry["content"] for entry in state["entries"]] == EXACT


def test_names_are_shown_as_they_are(cli: Cli) -> None:
    """No name is markup for whoever prints it."""
    names = ["[red]x[bold]", ":smile:", "a [link=x]b", "日本語", "50% {x}"]
    for name in names:
        cli("add", name, "hello", "--user", name)
        assert cli("show", name, "--user", name).lines[0].startswith(f"{name} at version 2")
    table = cli("sessions").out
    assert all(f"{name} " in table for name in names)
    assert {row["session_id"] for row in cli.json("sessions")["sessions"]} == set(names)


def test_words_of_other_languages_are_left_alone(cli: Cli) -> None:
    text = "Ça va\u00a0? 10\u202f000\u00a0€ 日本語\u3000です שלום مرحبا 👍"
    cli("add", "s", text)
    assert cli("context", "s").out == f"=== Recent Conversation ===\nUser: {text}\n"


def test_an_error_cannot_drive_a_terminal_either(cli: Cli) -> None:
    for arguments in (
        ["import", EVIL.replace("\n", "")],
        ["config", "s", "--set", f"{EVIL}=1"],
        ["show", EVIL],
        [EVIL],
    ):
        ran = cli.try_(*arguments)
        assert ran.code == 2
        assert hidden_in(ran.err) == []
        assert hidden_in(cli.try_("--json", *arguments).err) == []


def test_an_output_that_holds_no_unicode_is_no_error(cli: Cli) -> None:
    cli("add", "s", "日本語 👍")
    with cli.process("context", "s", env={**os.environ, "PYTHONIOENCODING": "ascii"}) as process:
        out, err = process.communicate(timeout=30)
    assert (process.returncode, err) == (0, "")
    assert out.endswith("User: \\u65e5\\u672c\\u8a9e \\U0001f44d\n")


@pytest.mark.parametrize("text", EXACT)
def test_json_can_do_without_unicode(text: str) -> None:
    plain = safe_json(json.dumps([text], ensure_ascii=False), ascii_only=True)
    assert plain.isascii()
    assert json.loads(plain) == [text]
