"""Context windows of models, in tokens; a config can always name its own. Source: http W-42."""

from typing import Final

#: Model → tokens: the names of the working-memory API, with the numbers of its contract.
NAMED: Final = {
    "gpt-3.5-turbo": 4_096,
    "text-embedding-ada-002": 8_191,
    "text-embedding-3-small": 8_191,
    "text-embedding-3-large": 8_191,
    "gpt-4": 8_192,
    "gpt-3.5-turbo-16k": 16_384,
    "gpt-4-32k": 32_768,
    "gpt-4.1": 128_000,
    "gpt-4.1-mini": 128_000,
    "gpt-4o": 128_000,
    "gpt-4o-mini": 128_000,
    "o1-mini": 128_000,
    "gpt-5.1-chat-latest": 128_000,
    "gpt-5.2-chat-latest": 128_000,
    "gpt-5-mini": 400_000,
    "gpt-5-nano": 400_000,
    "o1": 200_000,
    "o3-mini": 200_000,
    "claude-3-opus-20240229": 200_000,
    "claude-3-sonnet-20240229": 200_000,
    "claude-3-haiku-20240307": 200_000,
    "claude-3-opus-latest": 200_000,
    "claude-3-5-sonnet-20240620": 200_000,
    "claude-3-5-sonnet-20241022": 200_000,
    "claude-3-5-sonnet-latest": 200_000,
    "claude-3-5-haiku-20241022": 200_000,
    "claude-3-5-haiku-latest": 200_000,
    "claude-3-7-sonnet-20250219": 200_000,
    "claude-3-7-sonnet-latest": 200_000,
    "claude-sonnet-4-5": 200_000,
    "claude-sonnet-4-5-20250929": 200_000,
    "claude-haiku-4-5": 200_000,
    "claude-haiku-4-5-20251001": 200_000,
    "claude-opus-4-5": 200_000,
    "claude-opus-4-5-20251101": 200_000,
}

#: For other models, the longest matching prefix of the name is used.
_FAMILIES: Final = {
    "gpt-4-turbo": 128_000,
    "gpt-5": 400_000,
    "o1": 200_000,
    "o3": 200_000,
    "o4-mini": 200_000,
    "claude-": 200_000,
    "gemini-": 1_048_576,
}


def window_tokens(model: str | None) -> int | None:
    """Return the context window of *model*, in tokens, or None if it is unknown; prefixes match newer releases."""
    name = (model or "").rpartition("/")[2]
    if name in NAMED:
        return NAMED[name]
    windows = {**_FAMILIES, **NAMED}
    known = max((prefix for prefix in windows if name.startswith(prefix)), key=len, default=None)
    return windows[known] if known else None
