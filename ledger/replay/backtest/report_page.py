"""The report of a backtest as one self-contained HTML file. Pure."""

import json
from base64 import b64encode
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, Final

from ledger.replay.backtest.columns import (
    RANKED,
    WORDS,
    category_cells,
    category_columns,
    cells,
    columns,
    ranked_cells,
    title_of,
    where,
)
from ledger.replay.backtest.explaining import Explained
from ledger.replay.backtest.plots import panel_name
from ledger.replay.backtest.totals import Row

_STYLE: Final = Path(__file__).with_name("page.css").read_text()

_WORDS: Final = ' class="words"'

#: Heading, and how to read the picture below it.
_EVIDENCE: Final = (
    "Evidence kept, against tokens shown",
    """A line is one config under several token budgets, a single mark is a config without one or one that nothing
    changes. Across: the tokens shown when a question is asked, on average, on a logarithmic scale. Up: the share of
    the evidence that is among them. Further up and further left is better.""",
)
_TOKENS: Final = (
    "Tokens shown over the session",
    """At each model call: the tokens shown, as the median over the sessions that last so long. A flat line costs the
    same at every call, a rising one more and more; a sudden drop is where something left the window. Below, each
    config alone, with the others in grey.""",
)


def page(
    rows: Sequence[Row],
    configs: Mapping[str, dict[str, Any]],
    pictures: Mapping[str, bytes],
    notes: Sequence[str],
    findings: Sequence[str] = (),
    explained: Sequence[Explained] = (),
) -> str:
    """Return the report: *findings*, tables, *notes*, *explained* questions, pictures, and the *configs* in full."""
    first = rows[0]
    about = f"{_many(first.sessions, 'session')}, {_many(first.turns, 'model call')}"
    if first.questions:
        about += f", {_many(first.questions, 'question')} with {_many(first.evidence, 'piece')} of evidence"
    title = f"Backtest of {_many(len(rows), 'memory config')}"
    parts = [
        "<!doctype html>",
        '<html lang="en"><head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{title}</title><style>{_STYLE}</style></head><body>",
        f'<h1>{title}</h1><p class="quiet">{escape(about)}</p>',
        _list(findings),
        _table([name for name, _ in columns(rows)], [cells(row) for row in rows]),
        *(f'<p class="quiet">{escape(note)}</p>' for note in notes),
        *_categories(rows),
        *_explained(explained),
        *_pictures(rows, pictures),
        "<h2>What the columns say</h2><dl>",
        *(f"<dt>{escape(name)}</dt><dd>{escape(meaning)}</dd>" for name, meaning in columns(rows)),
        "</dl><h2>The configs</h2>",
        *(
            f"<details><summary>{escape(name)}</summary><pre>{escape(json.dumps(config, indent=2))}</pre></details>"
            for name, config in configs.items()
        ),
        "</body></html>",
    ]
    return "\n".join(part for part in parts if part) + "\n"


def _many(number: int, what: str) -> str:
    return f"{number:,} {what}" if number == 1 else f"{number:,} {what}s"


def _list(lines: Sequence[str]) -> str:
    items = "".join(f"<li>{escape(line)}</li>" for line in lines)
    return f'<ul class="findings">{items}</ul>' if items else ""


def _categories(rows: Sequence[Row]) -> Iterator[str]:
    names = [name for name, _ in category_columns(rows)]
    if names:
        yield "<h2>Evidence by category of question</h2>"
        yield _table(names, category_cells(rows))


def _explained(explained: Sequence[Explained]) -> Iterator[str]:
    if explained:
        yield "<h2>What outranked the evidence</h2>"
    for item in explained:
        yield f"<h3>{escape(title_of(item))}</h3>"
        for piece in item.pieces:
            yield f"<p>{escape(where(piece, item.matches))}</p>"
            yield _table(RANKED, ranked_cells(piece))


def _table(names: Sequence[str], lines: Sequence[Mapping[str, str]]) -> str:
    head = "".join(f'<th scope="col"{_WORDS if name in WORDS else ""}>{escape(name)}</th>' for name in names)
    body = "".join(f"<tr>{''.join(_cell(names, name, line[name]) for name in names)}</tr>" for line in lines)
    table = f"<table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"
    return f'<div class="scroll">{table}</div><p class="swipe quiet">The table goes on to the right.</p>'


def _cell(names: Sequence[str], name: str, text: str) -> str:
    if name == names[0]:
        return f'<th scope="row">{escape(text)}</th>'
    bad = ' class="bad"' if name == "split tool pairs" and text != "0" else ""
    return f"<td{_WORDS if name in WORDS else bad}>{escape(text)}</td>"


def _pictures(rows: Sequence[Row], pictures: Mapping[str, bytes]) -> Iterator[str]:
    for name, (heading, reading) in (("evidence.png", _EVIDENCE), ("tokens.png", _TOKENS)):
        if name in pictures:
            yield f"<h2>{escape(heading)}</h2><p>{escape(reading)}</p>{_figure(heading, pictures[name])}"
    panels = [
        _figure(f"Tokens shown under {row.config}", pictures[panel_name(number)])
        for number, row in enumerate(rows)
        if panel_name(number) in pictures
    ]
    yield f'<div class="panels">{"".join(panels)}</div>' if panels else ""


def _figure(what: str, data: bytes) -> str:
    return f'<figure><img alt="{escape(what)}" src="data:image/png;base64,{b64encode(data).decode()}"></figure>'
