"""Context windows of models, in tokens, as their makers state them; a config can always name its own."""

from typing import Final

#: Longest matching beginning of a model's name wins.
WINDOWS: Final = {
    "gpt-3.5-turbo": 16_385,
    "gpt-4": 8_192,
    "gpt-4-32k": 32_768,
    "gpt-4-turbo": 128_000,
    "gpt-4o": 128_000,
    "gpt-4.1": 1_047_576,
    "gpt-5": 400_000,
    "o1": 200_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude-": 200_000,
    "gemini-": 1_048_576,
}


def window_tokens(model: str | None) -> int | None:
    """Return the context window of *model*; none if it is not known here."""
    name = (model or "").rpartition("/")[2]
    known = max((prefix for prefix in WINDOWS if name.startswith(prefix)), key=len, default=None)
    return WINDOWS[known] if known else None
