"""The command ``search``."""

import re
from typing import Annotated

import typer
from rich.text import Text

from ledger.cli.app import app, command, options, run
from ledger.cli.arguments import UserOption, opened
from ledger.cli.output import STYLES, one_line, safe
from ledger.errors import InvalidInput
from ledger.json_models.searching import HitsShape
from ledger.search.finder import SearchResult
from projections.prompts import label
from projections.ranking import words

_LEAD = 24  # characters shown before the first word of the query


@command(app)
def search(
    query: Annotated[str, typer.Argument(metavar="QUERY", help="Any words; rare ones count for more.")],
    session: Annotated[str | None, typer.Option("--session", metavar="SESSION", help="Only in this session.")] = None,
    user: UserOption = None,
    collection: Annotated[
        str | None, typer.Option("--collection", metavar="NAME", help="Search this knowledge base instead.")
    ] = None,
    top: Annotated[int, typer.Option("--top", metavar="N", help="The number of results, best first.")] = 10,
    around: Annotated[int, typer.Option("--around", metavar="N", help="Entries before and after, with --json.")] = 1,
    erased: Annotated[bool, typer.Option("--erased", help="Also entries erased from the window.")] = False,
) -> None:
    """Search everything that was ever said, in the window or not, and the summaries."""
    opts = options()
    if not query.strip():  # a slip on the command line; to a program, no words are words that nothing matches
        raise InvalidInput("blank_query", "must not be empty or blank; give the words to search for", field="query")

    async def work() -> list[SearchResult]:
        async with opened(opts) as ledger:
            return await ledger.search(
                query,
                session_id=session,
                user_id=user,
                collection=collection,
                top_k=top,
                around=around,
                include_erased=erased,
            )

    found = run(work)

    def show_table() -> None:
        if not found:
            opts.output.say("Nothing was found.")
            return
        rows = []
        width = max(40, opts.output.console.width - 60)
        for result in found:
            who = label(result.entry) if result.entry else result.kind.capitalize()
            style = STYLES.get(result.entry.role, "") if result.entry else "bold"
            names = (safe(result.session_id), safe(result.user_id or ""), str(result.version), f"{result.score:.3f}")
            rows.append((*names, Text(one_line(who, 20), style=style), marked(result.text, query, width)))
        opts.output.table(("session", "user", ">version", ">score", "who", "~text"), rows)

    opts.output.result(HitsShape.of(found), show_table)


def marked(text: str, query: str, width: int) -> Text:
    """Return a line of *text* around the longest word of *query* in it, its words marked; safe for a terminal."""
    alternatives = "|".join(re.escape(word) for word in sorted(set(words(query)), key=len, reverse=True))
    pattern = re.compile(rf"\b(?:{alternatives})\b", re.IGNORECASE) if alternatives else None
    rarest = max(pattern.finditer(text), key=lambda match: len(match.group()), default=None) if pattern else None
    first = max(0, rarest.start() - _LEAD) if rarest else 0
    line = Text(("…" if first else "") + one_line(text[first:], width - 1))
    if pattern is not None:
        line.highlight_regex(pattern, "bold yellow")
    return line
