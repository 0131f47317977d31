"""Compare the summaries that no model writes, on blocks of about 2,000 tokens: ``python -m bench.summaries FILE …``.

It needs no database; the files are transcripts, each a row. Evidence are the numbers, and the words of four letters
or more, that questions quote; without questions, the numbers, and the words of six, that one entry of a block has.
"""

import argparse
import re
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Final, NamedTuple
from uuid import UUID

from ledger.events import RecordedEvent
from ledger.formats.importers import documents, read
from ledger.llm.summarizers.extractive import extract
from ledger.llm.summarizers.overview import overview_of
from ledger.llm.tokenizers import TOKENIZERS, entry_event
from ledger.replay.backtest.questions import Question, Transcript, read_questions
from ledger.session.entry_drafts import EntryDraft
from projections.entries import Entry, added

BLOCK: Final = 2_000
_WORD: Final = re.compile(r"\w+")
_GAP: Final = re.compile(r"\.{3,}|…")
_HEADER: Final = (
    "| transcripts | blocks | summary | tokens, median | evidence words shown | per 100 tokens | whole quotes | CPU |\n"
    "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |"
)


class Block(NamedTuple):
    """Entries to summarize, the evidence in them as words, and quotes that should survive whole."""

    entries: Sequence[Entry]
    evidence: frozenset[str]
    quotes: tuple[str, ...]


class Score(NamedTuple):
    """What one summary of a block says."""

    tokens: int
    shown: int
    whole: int
    seconds: float


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m bench.summaries", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, metavar="FILE")
    parser.add_argument("--questions", type=Path, help="questions with evidence, in the format of the backtest")
    parser.add_argument("--answers", type=Path, help="the possible answers of BFCL")
    parser.add_argument("--name", help="put all files into one row of this name")
    chosen = parser.parse_args()
    questions = [documents(file.read_bytes()) for file in (chosen.questions, chosen.answers) if file is not None]
    asked = read_questions(*questions) if questions else []
    print(_HEADER)
    rows = {chosen.name: chosen.files} if chosen.name else {file.name: [file] for file in chosen.files}
    for name, files in rows.items():
        for line in compared(name, [block for file in files for block in blocks_in(file, asked)]):
            print(line)


def blocks_in(file: Path, asked: Sequence[Question]) -> Iterator[Block]:
    """Yield the conversations of *file* in blocks; with questions, only those with evidence."""
    for conversation in read(documents(file.read_bytes()), name=file.name.split(".")[0]):
        entries = [
            _entry(version, draft)
            for version, draft in enumerate((draft for batch in conversation.batches for draft in batch), start=1)
        ]
        quotes = [piece for item in asked if item.session == conversation.session_id for piece in item.evidence]
        transcript = Transcript(entries)
        places = {quote: transcript.places(quote) for quote in quotes}
        for block in _cut([entry for entry in entries if not entry.pinned]):
            versions = {entry.version for entry in block}
            here = tuple(quote for quote, found in places.items() if found & versions)
            if here:
                yield Block(
                    block,
                    frozenset(word for quote in here for word in words(quote) if len(word) > 3 or word.isdigit()),
                    here,
                )
            elif not asked:
                yield Block(block, rare(block), ())


def rare(block: Sequence[Entry]) -> frozenset[str]:
    """Return the numbers and long words that only one entry of *block* has."""
    having = Counter(word for entry in block for word in set(words(entry.content)))
    return frozenset(word for word, count in having.items() if count == 1 and (len(word) > 5 or word.isdigit()))


def words(text: str) -> list[str]:
    """Return the words of *text* without case."""
    return _WORD.findall(text.casefold())


def compared(name: str, blocks: Sequence[Block]) -> Iterator[str]:
    """Yield a row of the table for each way to summarize *blocks*."""
    ways: dict[str, Callable[[Sequence[Entry]], str]] = {
        "nothing left out": lambda entries: "\n".join(entry.content for entry in entries),
        "overview alone": lambda entries: "\n".join(overview_of(entries).lines),
        "extractive, a tenth": lambda entries: _extractive(entries, 0.1),
        "extractive, three tenths": lambda entries: _extractive(entries, 0.3),
    }
    evidence = sum(len(block.evidence) for block in blocks)
    quotes = sum(len(block.quotes) for block in blocks)
    for way, summarize in ways.items():
        scores = [score(block, summarize) for block in blocks]
        tokens, shown = sum(item.tokens for item in scores), sum(item.shown for item in scores)
        whole = f"{sum(item.whole for item in scores) / quotes:.2f}" if quotes else ""
        cpu = f"{1000 * median(item.seconds for item in scores):.1f} ms"
        yield (
            f"| {name} | {len(blocks)} | {way} | {median(item.tokens for item in scores):.0f} | "
            f"{shown / evidence:.2f} | {100 * shown / tokens:.1f} | {whole} | {cpu} |"
        )


def score(block: Block, summarize: Callable[[Sequence[Entry]], str]) -> Score:
    """Return what the summary of *block* says."""
    begin = time.process_time()
    text = summarize(block.entries)
    seconds = time.process_time() - begin
    plain = _plain(text)
    whole = sum(all(part in plain for part in _parts(quote)) for quote in block.quotes)
    return Score(_count(text), len(block.evidence & set(words(text))), whole, seconds)


def _extractive(entries: Sequence[Entry], share: float) -> str:
    return extract(entries, (), budget=int(share * sum(entry.tokens for entry in entries)), count=_count)


def _cut(entries: Sequence[Entry]) -> Iterator[list[Entry]]:
    block: list[Entry] = []
    for entry in entries:
        if block and sum(item.tokens for item in block) + entry.tokens > BLOCK:
            yield block
            block = []
        block.append(entry)
    if block:
        yield block


def _entry(version: int, draft: EntryDraft) -> Entry:
    payload = entry_event(draft, write_id="", entry_id=str(version), tokenizer="o200k_base")
    return added(RecordedEvent(version, version, UUID(int=0), 0, 0, "", payload), payload)


def _count(text: str) -> int:
    return TOKENIZERS["o200k_base"].count_text(text).tokens


def _plain(text: str) -> str:
    return " ".join(text.casefold().replace("\u2019", "'").split())


def _parts(quote: str) -> list[str]:
    return [part for piece in _GAP.split(quote) if (part := _plain(piece).strip(" .\"'"))]


if __name__ == "__main__":
    main()
