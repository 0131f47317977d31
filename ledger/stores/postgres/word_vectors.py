"""The words of a text and of a question, as PostgreSQL has them: made here, so no server's dictionaries take part."""

from typing import Final

from psycopg.types.json import Jsonb

from projections.words.words import AskedWords, TextWords

_MOST: Final = 255  # positions of a word in a vector


def vector_of_words(text: TextWords) -> str:
    """Return *text* as a ``tsvector``: each word with as many positions as it occurs; one of a name has the label A."""
    return " ".join(
        f"'{word}':{','.join(map(str, range(1, min(count, _MOST) + 1)))}{'A' if word in text.names else ''}"
        for word, count in text.counts.items()
    )


def dates_of(asked: AskedWords) -> Jsonb:
    """Return the days that a question names, as ``ledger.search`` reads them."""
    return Jsonb([{"field": part.field, "number": part.number} for part in asked.dates])
