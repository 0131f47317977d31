"""The command ``search``."""

import re
from collections.abc import Sequence
from typing import Annotated, Final

import regex
import typer
from rich.text import Text

from ledger.application.json_models.search_json import HitsShape
from ledger.cli.app import app, command, options, run
from ledger.cli.common_options import UserOption, opened
from ledger.cli.output import STYLES, one_line, safe
from ledger.errors import InvalidInput
from ledger.indexes.search.search_results import SearchResult
from projections.prompts import label
from projections.words.languages import FALLBACK, UNSPACED, stem
from projections.words.word_index import Why

#: What a text was found by: the words of the query, the parts of their score, and the similarity of its meaning.
WHY: Final = ("words", ">by words", ">neighbours", ">speaker", ">date", ">meaning")
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
    explain: Annotated[bool, typer.Option("--explain", help="Show what each was found by.")] = False,
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
        rows: list[list[str | Text]] = []
        width = max(40, opts.output.console.width - 60)
        for result in found:
            who = label(result.entry) if result.entry else result.kind.capitalize()
            style = STYLES.get(result.entry.role, "") if result.entry else "bold"
            place = safe(result.session_id), safe(result.user_id or ""), str(result.version), f"{result.score:.3f}"
            why = explained(result.why) if explain else ()
            shown = marked(result.text, result.why.words, width)
            rows.append([*place, *why, Text(one_line(who, 20), style=style), shown])
        reasons = WHY if explain else ()
        opts.output.table(("session", "user", ">version", ">score", *reasons, "who", "~text"), rows)

    opts.output.result(HitsShape.of(found), show_table)


def explained(why: Why) -> tuple[str, ...]:
    """Return the columns `WHY` of a text that was found."""
    parts = why.by_words
    scores = () if parts is None else (parts.words, parts.neighbours, parts.speaker, parts.date)
    numbers = [f"{score:.3f}" if score else "" for score in scores or (0.0,) * 4]
    return (one_line(" ".join(why.words), 30), *numbers, "" if why.similarity is None else f"{why.similarity:.3f}")


def marked(text: str, asked: Sequence[str], width: int) -> Text:
    """Return a line of *text* around the longest of the words *asked*, their forms marked; safe for a terminal."""
    forms = {*asked, *(stem(word, FALLBACK) for word in asked)}
    parts = "|".join(re.escape(word) for word in asked if regex.match(UNSPACED, word))  # of words, which have no end

    def found_in(line: str) -> list[re.Match[str]]:
        each = ((match, match.group().casefold()) for match in re.finditer(rf"{parts or '(?!)'}|\w+", line))
        return [match for match, word in each if word in forms or stem(word, FALLBACK) in forms]

    longest = max(found_in(text), key=lambda match: len(match.group()), default=None)
    first = max(0, longest.start() - _LEAD) if longest else 0
    line = Text(("…" if first else "") + one_line(text[first:], width - 1))
    for match in found_in(line.plain):
        line.stylize("bold yellow", *match.span())
    return line
