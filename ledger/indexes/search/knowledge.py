"""Split the text of a summary into the pieces of a knowledge base. Source: R-KB-4."""

from importlib.util import find_spec
from typing import Final

from ledger.errors import Unavailable
from projections.memory_config.config import MemoryConfig
from projections.strategies.summarizer import SummarizerStrategy

_SPLITTER: Final = "langchain_text_splitters"
_MISSING: Final = "install memory-ledger[knowledge] to store summaries in a knowledge base"


def check_usable(config: MemoryConfig) -> MemoryConfig:
    """Return *config* if the extra that its knowledge bases need is installed; call this before it is stored.

    Raises:
        Unavailable: the extra ``knowledge`` is missing.
    """
    bases = any(
        isinstance(strategy, SummarizerStrategy) and strategy.knowledge_base is not None
        for strategy in config.compactions
    )
    if bases and find_spec(_SPLITTER) is None:
        raise Unavailable(_MISSING)
    return config


def split(text: str, *, size: int, overlap: int) -> list[tuple[int, str]]:
    r"""Return the pieces of *text*, in order, each with the index of its first character.

    A piece has at most *size* characters (code points) and no outer blanks; neighbours share at most *overlap*.
    Text is split at ``\n\n``, else at ``\n``, else at spaces, else anywhere. Every non-blank character is in a piece.

    Raises:
        Unavailable: the extra ``knowledge`` is not installed.
    """
    if not text.strip():
        return []
    try:
        from langchain_text_splitters import RecursiveCharacterTextSplitter  # noqa: PLC0415 - an extra
    except ImportError as missing:
        raise Unavailable(_MISSING) from missing
    splitter = RecursiveCharacterTextSplitter(
        separators=["\n\n", "\n", " ", ""], chunk_size=size, chunk_overlap=overlap
    )
    stripped = (piece.strip() for piece in splitter.split_text(text))  # the library returns blank pieces too
    pieces: list[tuple[int, str]] = []
    end = 0
    for piece in filter(None, stripped):
        first = text.index(piece, max(0, end - overlap))
        pieces.append((first, piece))
        end = first + len(piece)
    return pieces
