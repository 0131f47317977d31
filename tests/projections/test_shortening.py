"""Part of a long conversation is the same part that is found by looking at all of it."""

from datetime import UTC, datetime, timedelta

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from projections.entries import Entry
from projections.entry_page import EntryPage, PagesMissing
from projections.paged_entries import PagedEntries
from projections.truncation import newest, newest_within, versions_without
from projections.usage import fitting, most_recent
from projections.values import ranges
from tests.support.examples import up_to

BEGAN = datetime(2026, 1, 1, tzinfo=UTC)


def saying(*kinds: str) -> st.SearchStrategy[tuple[str, int, int, int]]:
    """Return what draws an entry: its kind, tokens, versions left out before it, and minutes it came late."""
    return st.tuples(st.sampled_from(kinds), st.integers(0, 30), st.integers(0, 3), st.integers(-40, 40))


said = saying("user", "assistant", "call", "result")


def entries(notes: list[tuple[str, int, int, int]], *, calls_differ: int = 3, write: int = 3) -> PagedEntries:
    version, created = 1, []
    for index, (what, tokens, gap, shift) in enumerate(notes):
        version += 1 + gap
        kind = {"call": "tool_call", "result": "tool_result"}.get(what, "message")
        created.append(
            Entry(
                version=version,
                entry_id=f"e{version}",
                write_id=str(index // write),
                kind=kind,
                role={"call": "assistant", "result": "tool"}.get(what, what),
                content="x",
                tokens=tokens,
                tokenizer="approximate",
                recorded_us=version,
                tool_name="t" if kind != "message" else None,
                tool_call_id=str(index % calls_differ) if kind != "message" else None,
                claimed_at=BEGAN + timedelta(minutes=index + shift),
            )
        )
    return PagedEntries(created)


def assert_same(held: PagedEntries, count: int, limit: int) -> None:
    whole = tuple(held)
    assert newest(held, count) == most_recent(whole, count)
    assert newest_within(held, limit) == fitting(whole, limit)
    for shown in (newest(held, count), newest_within(held, limit)):
        stored_fields = {entry.version for entry in shown}
        wanted = ranges.ranges_of(entry.version for entry in whole if entry.version not in stored_fields)
        assert versions_without(held, shown) == wanted


@up_to(60)
@given(st.lists(said, max_size=12), st.integers(1, 40), st.integers(1, 400), st.integers(1, 400))
def test_what_is_shown_is_what_looking_at_every_entry_shows(
    notes: list[tuple[str, int, int, int]], repeated: int, count: int, limit: int
) -> None:
    """R-004-10, http W-17, W-55: text, calls with and without their results, times out of order."""
    assert_same(entries((notes * repeated)[:400]), count, limit)


@up_to(30)
@given(st.lists(saying("user", "assistant", "call"), min_size=65, max_size=200), st.data())
def test_it_is_the_same_while_the_list_grows(notes: list[tuple[str, int, int, int]], data: st.DataObject) -> None:
    """What a page knows of its entries holds for every longer list that has it."""
    full = entries(notes)
    held: PagedEntries = PagedEntries()
    for entry in full:
        held = held.append(entry)
    assert_same(held, data.draw(st.integers(1, 80)), data.draw(st.integers(1, 900)))
    place = data.draw(st.integers(0, len(held) - 1))
    changed = held.replace(held[place].version, lambda entry: replace(entry, tokens=entry.tokens + 7))
    assert sum(part.tokens for part in changed.facts) == sum(part.tokens for part in held.facts) + 7
    assert_same(changed, data.draw(st.integers(1, 80)), data.draw(st.integers(1, 900)))


def test_no_content_is_read_but_what_is_shown() -> None:
    held = entries([("user", 10, 0, -1 if number % 2 else 1) for number in range(2_000)])
    absent = PagedEntries.of(tuple(EntryPage(None, page.facts) for page in held.pages), held.tail)
    contents = dict(zip(map(id, absent.pages), held.pages, strict=True))
    for read in (lambda: newest(absent, 40), lambda: newest_within(absent, 400)):
        for _ in range(10):
            try:
                shown = read()
                break
            except PagesMissing as missing:
                for page in missing.pages:
                    page.entries = contents[id(page)].entries
        assert len(shown) == 40
        assert versions_without(absent, shown) == ((2, held[-40].version - 1),)
    assert sum(page.entries is not None for page in absent.pages) <= 3


def test_what_takes_every_part_for_whole_is_caught() -> None:
    """Negative control: a call at the end of a part, whose result comes in the next and keeps it in the window."""
    notes = [("user", 10, 0, 0)] * 63 + [("call", 10, 0, 0)] + [("assistant", 10, 0, 0)] * 80
    held = entries(notes)
    assert_same(held, 5, 200)
    wrong = [entry for part in held.pages[2:] for entry in part.read()] + list(held.tail)
    assert [part.facts.whole for part in held.pages[:3]] == [True, False, True]
    assert fitting(wrong, 200) != fitting(tuple(held), 200)


def test_an_answer_on_two_parts_stays_whole() -> None:
    """R-GEN-8: its text ends one part, and its call, which waits, begins the next."""
    notes = [("user", 10, 0, 0)] * 31 + [("assistant", 10, 0, 0), ("call", 10, 0, 0)] + [("assistant", 10, 0, 0)] * 60
    held = entries(notes, write=33)
    assert [part.facts.whole for part in held.pages[:2]] == [True, False]
    assert_same(held, 5, 300)
    assert [entry.kind for entry in newest_within(held, 300)[:2]] == ["message", "tool_call"]
