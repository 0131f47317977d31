"""The days that a question names, to prefer what was said then. Pure."""

import re
from collections.abc import Sequence
from datetime import date
from typing import Final, Literal, TypeAlias

import msgspec

#: What of a date a word names; the names are those of PostgreSQL's ``date_part``.
CalendarField: TypeAlias = Literal["year", "month", "day", "isodow"]

_ISO: Final = re.compile(r"\b([12]\d{3})-(\d\d)-(\d\d)\b")
_DAY: Final = re.compile(r"([12]?\d|3[01])(?:st|nd|rd|th)?")
_YEAR: Final = re.compile(r"(?:19|20|21)\d\d")
_MONTHS: Final = """
january february march april may june july august september october november december
jan feb mar apr - jun jul aug sep oct nov dec
januar februar märz april mai juni juli august september oktober november dezember
janvier février mars avril mai juin juillet août septembre octobre novembre décembre
enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre
gennaio febbraio marzo aprile maggio giugno luglio agosto settembre ottobre novembre dicembre
janeiro fevereiro março abril maio junho julho agosto setembro outubro novembro dezembro
januari februari maart april mei juni juli augustus september oktober november december
"""
_WEEKDAYS: Final = """
monday tuesday wednesday thursday friday saturday sunday
montag dienstag mittwoch donnerstag freitag samstag sonntag
lundi mardi mercredi jeudi vendredi samedi dimanche
lunes martes miércoles jueves viernes sábado domingo
lunedì martedì mercoledì giovedì venerdì sabato domenica
maandag dinsdag woensdag donderdag vrijdag zaterdag zondag
"""


def _numbered(table: str) -> dict[str, int]:
    return {name: number for line in table.split("\n") for number, name in enumerate(line.split(), start=1)}


_NAMED: Final[tuple[tuple[CalendarField, dict[str, int]], ...]] = (
    ("month", _numbered(_MONTHS)),
    ("isodow", _numbered(_WEEKDAYS)),
)


class DatePart(msgspec.Struct, frozen=True):
    """A part of a date that a question names."""

    field: CalendarField
    number: int

    def names(self, day: date | None) -> bool:
        """Tell whether *day* is such a day."""
        return day is not None and self.number == (
            day.isoweekday() if self.field == "isodow" else getattr(day, self.field)
        )


def date_parts(text: str, words: Sequence[str]) -> tuple[DatePart, ...]:
    """Return the parts of dates that *text* names, in small letters, with its *words*.

    A number is a day of the month only beside the name of a month.
    """
    found: list[DatePart] = []
    for year, month, day in _ISO.findall(text):
        numbers: tuple[tuple[CalendarField, str], ...] = ("year", year), ("month", month), ("day", day)
        found += [DatePart(field, int(number)) for field, number in numbers]
    for word in words:
        found += [DatePart(field, names[word]) for field, names in _NAMED if word in names]
        if _YEAR.fullmatch(word):
            found.append(DatePart("year", int(word)))
    if any(part.field == "month" for part in found):
        found += [DatePart("day", int(day.group(1))) for day in map(_DAY.fullmatch, words) if day]
    return tuple(dict.fromkeys(found))
