"""A PUT as a diff: the rules http W-52 to W-60 and the cases of http W-61 and W-62, without I/O."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ledger.events import (
    ConfigChanged,
    ContextSet,
    DataChanged,
    EntriesExtracted,
    EntryAdded,
    EntryEdited,
    EntryRemoved,
    ExpirySet,
    Extraction,
    MemoryAdded,
    MemoryEdited,
    MemoryFields,
    MemoryRemoved,
    SessionCleared,
)
from ledger.session.merge.merge_fields import context_text
from ledger.session.merge.put_command import Body, BodyMemory, BodyMessage, IfMatch, TokenCount
from projections.working_memory import ServedView
from tests.support.examples import up_to
from tests.support.put_cases import Written, message, messages


def session(names: str = "a b c", **fields) -> Written:
    created = Written()
    created.put(names, **fields)
    return created


def types(events: list) -> list[type]:
    return [type(event) for event in events]


def covering(written: Written, names: str, text: str = "a summary") -> None:
    """Fold the entries *names* into a summary, as a compaction of the server does."""
    from ledger.events import CompactionCompleted  # noqa: PLC0415

    versions = [entry.version for entry in written.state.window.entries if entry.entry_id in names.split()]
    written.record(
        [
            CompactionCompleted(
                write_id="c",
                compaction_id="c1",
                key="progressive",
                strategy="progressive",
                effect="replace",
                covered=((min(versions), max(versions)),),
                tokens_before=10,
                summary_id="s1",
                text=text,
                tokens_after=2,
                tokenizer="words",
                method="llm",
                first_version=min(versions),
            )
        ]
    )


# the cases of http W-61 ---------------------------------------------------------------------------------------------


def test_an_append_by_the_client_adds_one_event_whatever_came_between__W_61() -> None:
    written = session()
    seen = written.version
    written.put("a b c d", seen)
    assert types(written.put("a b c e", seen)) == [EntryAdded]
    assert written.names == "a b c d e"


@pytest.mark.parametrize("start", ["", "a b"])
def test_ten_concurrent_appends_all_stay__W_61(start: str) -> None:
    written = Written()
    written.put(start)
    seen = written.version
    for number in range(10):
        written.put(f"{start} n{number}", seen)
    assert written.names.split() == [*start.split(), *(f"n{number}" for number in range(10))]


def test_a_late_creating_put_changes_nothing__W_61() -> None:
    written = session()
    assert written.put("") == []
    assert written.names == "a b c"


def test_a_new_list_on_a_fetched_object_replaces_what_was_shown__W_61() -> None:
    written = session()
    seen = written.version
    written.put("a b c late", seen)
    written.put("x y", seen)
    assert written.names == "late x y"


def test_a_new_list_of_the_client_replaces__W_61() -> None:
    written = session()
    written.put("x y")
    assert written.names == "x y"


def test_a_new_list_that_shares_an_id_takes_only_what_it_vouches_for__W_61() -> None:
    written = session("a b")
    written.record([added(written, "native")])
    written.put("a x")
    assert written.names == "a native x", "b came with a; nobody listed what was added natively"


def test_an_empty_list_on_a_fetched_object_empties_and_the_session_lives__W_61() -> None:
    written = session()
    written.put("", written.version)
    assert written.names == ""
    assert written.state.opened


def test_an_empty_list_of_the_client_removes_nothing__W_61() -> None:
    written = session()
    assert written.put("", data={"k": 1})[0] == DataChanged(write_id="w2", set={"k": 1})
    assert written.names == "a b c"


def test_an_old_message_that_a_self_built_list_drops_leaves__W_61() -> None:
    written = session("a b")
    written.put("a b c")
    written.put("b c d")
    assert written.names == "b c d", "a came with b, which is listed"


def test_a_full_local_history_after_a_compaction_adds_what_is_new__W_61() -> None:
    written = session("a b c d")
    covering(written, "a b")
    written.put("a b c d e")
    assert written.names == "c d e"
    assert context_text(written.state) == "a summary"


def test_messages_left_out_at_read_stay_when_the_list_is_put_back__W_61() -> None:
    written = session("a b c d")
    first = written.state.window.entries[2].version
    view = ServedView(written.version, first, ((2, 3),))
    written.put("c d e", written.version, views=(view,))
    assert written.names == "a b c d e"
    without_view = session("a b c d")
    without_view.put("c d e", without_view.version)
    assert without_view.names == "c d e", "without the view their absence is meant"


def test_the_same_put_again_is_no_event__W_61() -> None:
    written = session()
    assert written.put("a b c") == []
    assert written.put("a b c", written.version) == []
    assert written.put("a b c", IfMatch()) == []


# http W-53 to W-58 --------------------------------------------------------------------------------------------------


def added(written: Written, name: str) -> EntryAdded:
    return EntryAdded(
        write_id=f"native-{name}",
        entry_id=name,
        kind="message",
        role="user",
        content=f"text of {name}",
        tokens=3,
        tokenizer="words",
    )


def test_messages_without_ids_are_matched_in_order_by_content__W_53() -> None:
    written = Written()
    written.put(Body(messages=(message("hi"), message("hi"), message("you"))))
    names = written.names
    assert written.put(Body(messages=(message("hi"), message("hi"), message("you")))) == []
    written.put(Body(messages=(message("hi"), message("hi"), message("you"), message("hi"))))
    assert (written.names.split()[:3], written.texts) == (names.split(), ["hi", "hi", "you", "hi"])


def test_a_history_rebuilt_with_fresh_ids_is_recognised__W_53() -> None:
    written = session("a b")
    fresh = tuple(message(f"text of {name}", f"fresh-{name}") for name in ("a", "b", "c"))
    written.put(Body(messages=fresh))
    assert written.names == "a b fresh-c"


def test_only_what_a_marked_writer_saw_may_leave__W_54() -> None:
    written = session("a b")
    seen = written.version
    written.put("a b c", seen)
    written.put("a", seen)
    assert written.names == "a c"


def test_a_write_vouches_for_what_its_body_listed_and_for_nothing_else__W_54() -> None:
    written = session("a b c d")
    written.put("a b x")  # vouched by a and b, c and d leave
    assert written.names == "a b x"
    two = session("a b")
    two.record([added(two, "n")])
    two.put("a b x", 3)  # x's writer had not seen n
    two.put("x")
    assert two.names == "n x"


def test_without_the_proof_a_stale_writer_would_delete__W_54(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control: a diff that takes every omission for a removal loses the message of a concurrent writer."""

    def everything(base, theirs, matches, omitted, evidence, views):
        return list(omitted)

    def written_by_two() -> str:
        written = session()
        seen = written.version
        written.put("a b c d", seen)
        written.put("a b c e", seen)
        return written.names

    assert written_by_two() == "a b c d e"
    monkeypatch.setattr("ledger.session.merge.merge_lists.leaving", everything)
    assert written_by_two() == "a b c e"


def test_what_came_back_together_vouches_as_what_came_together__W_54() -> None:
    written = session("a b c")
    written.record([SessionCleared(write_id="x", ended=True)])
    written.put("a b c")
    written.put("a c")
    assert written.names == "a c"
    two = session("a b c")
    two.put("c a b")
    two.put("c b")
    assert two.names == "c b", "a and b were moved by one write"


def test_an_edit_is_applied_and_a_stale_copy_is_not__W_56() -> None:
    written = session("a b")
    assert types(written.put("a=new b")) == [EntryEdited]
    assert written.texts == ["new", "text of b"]
    assert written.put("a b") == [], "an earlier text is a stale copy"
    seen = written.version
    written.put("a=newer b", seen)
    assert written.put("a=new b", seen) == [], "a marked writer that did not change it"
    assert types(written.put("a=mine b", seen)) == [EntryEdited]
    assert types(written.put("a b", IfMatch())) == [EntryEdited]
    assert written.texts[0] == "text of a"


def test_what_is_covered_stays_so_and_what_was_removed_comes_back_unless_a_later_removal_stands__W_57() -> None:
    written = session("a b c")
    covering(written, "a")
    assert written.put("a b c") == []
    before = written.version
    written.put("b", written.version)
    assert written.names == "b"
    assert written.put("b c", before) == [], "c was there at that version; its removal is later"
    written.put("b c")
    assert written.names == "b c"
    written.put("a b c", IfMatch())
    assert written.names == "a b c"


def test_what_was_cleared_comes_back_only_by_an_explicit_write__W_57() -> None:
    written = session("a b")
    seen = written.version
    written.record([SessionCleared(write_id="x")])
    written.put("a b c", seen)
    assert written.names == "c"
    written.put("a b c")
    assert written.names == "c a b" or written.names == "a b c"


def test_from_the_first_misplaced_message_on_all_go_to_the_end__W_58() -> None:
    written = session("a b c")
    events = written.put("a c b")
    assert types(events) == [EntryRemoved, EntryAdded]
    assert written.names == "a c b"
    written.put("a x c b")
    assert written.names == "a x c b"


def test_a_marked_writer_that_keeps_the_order_it_saw_reorders_nothing__W_58() -> None:
    written = session("a b c")
    seen = written.version
    written.put("c b a")
    assert types(written.put("a b c d", seen)) == [EntryAdded]
    assert written.names == "c b a d"


def test_what_moves_keeps_its_id_its_time_and_its_flags() -> None:
    """http W-47."""
    written = session("a b")
    written.record([EntriesExtracted(write_id="e", covered=((2, 2),), strategy="discrete")])
    written.put("b a")
    moved = written.log[-1].payload
    assert isinstance(moved, EntryAdded)
    assert (moved.entry_id, moved.extracted) == ("a", True)


# memories, http W-29, W-49 ------------------------------------------------------------------------------------------


def memory(text: str, name: str, *sent: str, **fields) -> BodyMemory:
    names = frozenset({"text", *sent})
    return BodyMemory(fields=MemoryFields(text=text, **fields), id=name, sent=names)


def test_memories_are_judged_as_a_list_of_their_own() -> None:
    written = session("a", memories=(memory("x", "m1"), memory("y", "m2")))
    assert [each.memory_id for each in written.state.working.memories] == ["m1", "m2"]
    assert types(written.put("", memories=(memory("x", "m1"),))) == [MemoryRemoved], "they came together"
    assert written.names == "a", "an unmarked empty list removes nothing"
    assert types(written.put("a", memories=(memory("z", "m9"),))) == [MemoryRemoved, MemoryAdded]


def test_fields_that_are_not_sent_keep_their_value() -> None:
    """http W-29: the client drops some."""
    written = session("a", memories=(memory("x", "m1", "pinned", "topics", pinned=True, topics=("t",)),))
    assert written.put("a", memories=(memory("x", "m1"),)) == []
    assert types(written.put("a", memories=(memory("x", "m1", "topics", topics=("u",)),))) == [MemoryEdited]
    (stored,) = written.state.working.memories
    assert (stored.fields.pinned, stored.fields.topics) == (True, ("u",))


# the other fields, http W-59 ----------------------------------------------------------------------------------------


def test_data__W_59() -> None:
    written = session("a", data={"k": 1, "none": None})
    seen = written.version
    assert types(written.put("a", data={"k": 2})) == [DataChanged]
    assert written.state.working.data == {"none": None, "k": 2}, "a null that clients are not shown stays"
    written.put("a", seen, data={"k": 1, "mine": 3})
    assert written.state.working.data == {"none": None, "k": 2, "mine": 3}, "only what a marked writer changed"
    written.put("a", seen, data={})
    assert written.state.working.data == {"none": None, "mine": 3}, "it removed k"
    assert written.put("", data={}) == []
    written.put("a", IfMatch(), data={"k": True})
    assert written.state.working.data == {"k": True}
    assert types(written.put("a", data={"k": 1})) == [DataChanged], "true is not 1"


def test_context__W_59() -> None:
    """And R-004-9: what a caller sets as context stands until a summary folds it."""
    written = session("a b c", context="mine")
    assert context_text(written.state) == "mine"
    assert written.put("a b c", context="mine") == []
    assert written.put("", context="") == []
    covering(written, "a", "ours")  # another summary of the server beside
    assert written.put("b c", context="") == [], "absent beside a summary of the server"
    assert written.put("b c", context="mine") == [], "a text that was current before is a stale copy"
    assert types(written.put("b c", context="new")) == [ContextSet]
    assert context_text(written.state) == "new"
    assert types(written.put("x", context="")) == [EntryRemoved, EntryRemoved, EntryAdded, ContextSet], "a new list"
    assert context_text(written.state) == ""


def test_lifetime_strategy_and_tokens__W_59() -> None:
    written = session("a", ttl_seconds=60, ttl_sent=True, extraction=Extraction("summary"), tokens=7)
    assert types(written.put("a")) == [ExpirySet], "nothing changes, and the lifetime is renewed (W-20)"
    assert written.put("a", extraction=Extraction()) != []
    working = written.state.working
    assert (working.ttl_seconds, working.extraction.strategy, working.tokens) == (60, "summary", 7)
    written.put("a", ttl_seconds=None, ttl_sent=True)
    assert written.state.working.ttl_seconds is None
    assert types(written.put("a", written.version, tokens=9, extraction=Extraction("summary"))) == [ConfigChanged]
    written.put("a", IfMatch())
    working = written.state.working
    assert (working.extraction.strategy, working.tokens) == ("discrete", 0)


def test_a_marked_body_from_before_a_deletion_brings_only_its_changes__W_60() -> None:
    written = session("a b", data={"k": 1})
    seen = written.version
    written.record([SessionCleared(write_id="x", ended=True)])
    written.put("a b c", seen, data={"k": 1, "n": 2})
    assert (written.names, written.state.working.data) == ("c", {"n": 2})


# http W-62 ----------------------------------------------------------------------------------------------------------


def test_the_chosen_outcomes__W_62() -> None:
    written = session("a b")
    written.put("a b c")
    written.put("a b")
    assert written.names == "a b c", "(a) a list without the newest may be stale"
    written.put("x")
    assert written.names == "x", "(b) the later of two blind creators takes the window"
    written.put("x", data={"k": 1})
    written.put("x", data={"k": 2})
    assert written.state.working.data == {"k": 2}, "(c) the last one wins"
    written.put("x c")
    assert written.names == "x c", "(e) listing what was removed restores it"


# laws ----------------------------------------------------------------------------------------------------------

NAMES = st.lists(st.sampled_from("abcdefgh"), unique=True, max_size=6).map(" ".join)


@up_to(200)
@given(st.lists(st.tuples(NAMES, st.booleans()), max_size=6), NAMES)
def test_a_strict_put_leaves_exactly_its_body(before: list[tuple[str, bool]], body: str) -> None:
    written = Written()
    for names, marked in before:
        written.put(names, written.version if marked else None)
    written.put(body, IfMatch())
    assert written.names == body
    assert written.put(body, IfMatch()) == []


@up_to(200)
@given(st.data())
def test_a_marked_writer_never_takes_away_what_it_had_not_seen(data: st.DataObject) -> None:
    """http W-54: writers append to, drop from and reorder what they saw, at any distance from the head."""
    written = Written()
    written.put("a b c")
    boundaries = [written.version]
    for number in range(data.draw(st.integers(1, 5))):
        seen = data.draw(st.sampled_from(boundaries))
        then = [entry.entry_id for entry in written.states[seen].window.entries]
        unseen = [name for name in written.names.split() if name not in then]
        stored = data.draw(st.permutations(then)) if then else []
        listed = stored[: data.draw(st.integers(0, len(stored)))]
        written.put(" ".join([*listed, f"n{number}"]), seen)
        boundaries.append(written.version)
        assert [name for name in written.names.split() if name in unseen] == unseen


@up_to(100)
@given(st.lists(st.tuples(NAMES, st.booleans()), min_size=1, max_size=6))
def test_every_message_is_active_or_was_removed_by_an_event(puts: list[tuple[str, bool]]) -> None:
    """http W-44."""
    written = Written()
    for names, marked in puts:
        written.put(names, written.version if marked else None)
    came = {event.version for event in written.log if isinstance(event.payload, EntryAdded)}
    went = {event.payload.entry_version for event in written.log if isinstance(event.payload, EntryRemoved)}
    assert came - went == {entry.version for entry in written.state.window.entries}


UNNAMED = st.lists(st.sampled_from(["hi", "you", "and"]), max_size=4)


@up_to(100)
@given(st.lists(st.tuples(NAMES, UNNAMED, UNNAMED, st.sampled_from(["", "mine"]), st.booleans()), max_size=5))
def test_deciding_a_put_twice_gives_equal_events(puts: list[tuple[str, list[str], list[str], str, bool]]) -> None:
    """Its ids are made before: what has none gets one of those, each at most once. `Written.put` decides twice."""
    written = Written()
    for names, texts, memories, context, marked in puts:
        body = Body(
            messages=(*messages(names), *(message(text) for text in texts)),
            memories=tuple(BodyMemory(fields=MemoryFields(text=text)) for text in memories),
            context=context,
        )
        written.put(body, written.version if marked else None)
    for items in (
        [entry.entry_id for entry in written.state.window.entries],
        [memory.memory_id for memory in written.state.working.memories],
    ):
        assert len(set(items)) == len(items)


def test_a_count_that_is_not_pure_is_noticed() -> None:
    """Negative control of the law above."""
    numbers = iter(range(100))
    written = Written(count=lambda role, text: TokenCount(next(numbers), "random"))
    with pytest.raises(AssertionError, match="not pure"):
        written.put("a")


def test_a_put_of_ten_thousand_known_messages_and_a_new_one_is_one_event() -> None:
    """http W-73, B10."""
    many = tuple(BodyMessage(role="user", content=f"text {number}", id=f"m{number}") for number in range(2_000))
    written = Written()
    written.put(Body(messages=many))
    assert types(written.put(Body(messages=(*many, message("new", "n"))), written.version)) == [EntryAdded]
