"""Remove citations of the specification from texts that users read."""

import re

_RULE = r"(?:(?:trust|http|style) )?(?:[RV]-[0-9A-Z]+-\d+|LAW-\d+|[A-Z]-?\d+|§\d+)"
_LIST = rf"{_RULE}(?:(?:,|,? and| to| …|\.\.|;) ?{_RULE})*"
_IN_BRACKETS = re.compile(rf"\s*\((?:see )?{_LIST}\)")
_SOURCE = re.compile(r"\s*\bSource:.*?(?=\n\s*\n|\Z)", re.DOTALL)


def without_rules(text: str) -> str:
    """Return *text* without rule numbers in brackets and without its ``Source:``."""
    return _IN_BRACKETS.sub("", _SOURCE.sub("", text))
