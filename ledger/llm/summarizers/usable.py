"""What of a model's answer can be a summary: it is untrusted text. Source: R-SUM-5, R-CMP-6, trust M-3."""

import re
from typing import Final

from ledger.errors import InvalidInput, SummarizerFailed
from ledger.events.limits import CONTENT_BYTES
from ledger.events.strict_json import check_text

_THOUGHT: Final = re.compile(r"<think>.*?(?:</think>|\Z)", re.DOTALL)
_REFUSAL: Final = re.compile(
    r"\W*(?:(?:i['\u2019]?m|i am) (?:sorry|unable|not able)|"
    r"i (?:cannot|can['\u2019]t|can not|won['\u2019]t)|as an ai\b|"
    r"no prior (?:history|conversation|context))",
    re.IGNORECASE,
)


def cleaned(answer: str) -> str:
    """Return the text of an untrusted *answer* without thoughts and outer blanks, valid to store; it may be empty.

    Raises:
        SummarizerFailed: ``invalid_output``.

    Source: R-SUM-5, trust M-3.
    """
    if len(answer) > 2 * CONTENT_BYTES:
        raise SummarizerFailed("invalid_output", f"the answer has {len(answer)} characters")
    text = _THOUGHT.sub("", answer).strip()
    try:
        if text:
            check_text(text, field="summary")
    except InvalidInput as fault:
        raise SummarizerFailed("invalid_output", str(fault)) from fault
    if len(text.encode()) > CONTENT_BYTES:
        raise SummarizerFailed("invalid_output", f"the answer is longer than {CONTENT_BYTES} bytes")
    return text


def usable(answer: str) -> str:
    """Return *answer*, cleaned, if it can be a summary.

    Raises:
        SummarizerFailed: ``empty`` or ``invalid_output``.

    Source: R-CMP-6, trust M-3, I-53.
    """
    text = cleaned(answer)
    if not text:
        raise SummarizerFailed("empty", "the answer is empty")
    if _REFUSAL.match(text):
        raise SummarizerFailed("invalid_output", "the answer is a refusal, not a summary")
    return text
