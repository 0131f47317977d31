"""Every summary ever made, how it ended and what it was made of; and exact text, as of a version."""

import random

import pytest

from ledger.application.auditing import past_summaries
from ledger.application.searching import exact_text
from ledger.errors import InvalidInput, NotFound, SessionNotFound, VersionNotFound
from ledger.memory import MemoryLedger
from ledger.ports import Store
from ledger.stores.in_memory import InMemoryStore
from projections.log.lineage import LINEAGE, origin
from projections.values.ranges import union
from tests.support.ledgers import ledger_over
from tests.support.planted_marks import CONFIGS, live
from tests.support.timeline_reader import TimelineReader


async def lived(config: str, seed: int, turns: int = 20) -> MemoryLedger:
    ledger = ledger_over(InMemoryStore(), config=CONFIGS[config])
    await live(ledger, random.Random(seed), turns=turns)
    return ledger


@pytest.mark.parametrize("config", CONFIGS)
async def test_the_list_has_every_summary_and_how_it_ended(config: str, seed: int) -> None:
    ledger, dice = await lived(config, seed), random.Random(seed)
    timeline, newest = await ledger.timeline("s"), (await ledger.get_state("s")).version
    reader = TimelineReader([timeline])
    for version in [*dice.sample(range(1, newest + 1), 5), newest]:
        rows, after = [], 0
        while after is not None:
            page = await ledger.list_summaries("s", version=version, after=after, limit=dice.randint(1, 4))
            rows += page.summaries
            after = page.next_after
        ever = (await ledger.get_history("s", version=version)).summaries
        assert [(row.summary_id, row.version, row.text) for row in rows] == [
            (each.summary_id, each.version, each.text) for each in ever
        ]
        assert {(row.summary_id, row.version) for row in rows if row.status == "live"} == reader.live(version)
        for row in rows:
            causes = {
                "cleared" if end.summary_id is None else end.cause
                for end in timeline.ended
                if row.version < end.version <= version and end.summary_id in {None, row.summary_id}
            }
            assert row.status in (causes or {"live"})


async def test_a_summary_has_the_tree_of_what_it_folds(store: Store, namespace: str) -> None:
    ledger = ledger_over(store, namespace=namespace, config=CONFIGS["folds"])
    ledger.set_summarizer(None, lambda prompt: "short")
    for number in range(1, 30):
        await ledger.add_user_message("s", f"{number} " + "and more to say about this " * 20)
        await ledger.settle("s")
    lineage = LINEAGE.fold(await ledger.get_events("s"))
    (newest,) = await ledger.get_summaries("s")
    found = await ledger.get_summary("s", newest.summary_id)
    covered, names, nodes = [], [], [found.tree]
    for node in nodes:
        covered.append(node.versions)
        names.append(node.summary_id)
        nodes.extend(node.folds)
    whole = origin(lineage, newest.summary_id)
    assert (union(covered), sorted(names[1:])) == (whole.covered, sorted(whole.via))
    assert (found.status, found.ended_version, found.tree.cut) == ("live", None, False)
    assert found.requested.reasons == ("tokens",)
    assert found.requested.version < found.version
    assert found.latency_ms >= 0
    folded = await ledger.get_summary("s", names[1])
    assert (folded.status, folded.folded_into, folded.ended_version) == ("folded", newest.summary_id, newest.version)
    assert (await ledger.get_summary("s", names[1], version=newest.version - 1)).status == "live"
    with pytest.raises(NotFound, match="was not in this session"):
        await ledger.get_summary("s", "nobody")
    with pytest.raises(NotFound):
        await ledger.get_summary("s", newest.summary_id, version=newest.version - 1)


async def test_a_tree_that_is_too_deep_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ledger.application.auditing.past_summaries._DEPTH", 2)
    ledger = ledger_over(InMemoryStore(), config=CONFIGS["folds"])
    ledger.set_summarizer(None, lambda prompt: "short")
    for number in range(1, 30):
        await ledger.add_user_message("s", f"{number} " + "and more to say about this " * 20)
        await ledger.settle("s")
    tree = (await ledger.get_summary("s", (await ledger.get_summaries("s"))[0].summary_id)).tree
    assert not tree.cut
    assert tree.folds[0].cut
    assert tree.folds[0].folds == ()


async def test_text_is_found_as_it_was_at_a_version(
    store: Store, namespace: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exact_text, "_CHUNK", 2)
    ledger = ledger_over(
        store, namespace=namespace, config={"max_entries": 4, "recent_window": 1, "min_entries_to_compress": 2}
    )
    ledger.set_summarizer(None, lambda prompt: "one apple a day")
    await ledger.add_user_message("s", "An Apple, an apple (a+b)", entry_id="m-1")
    await ledger.add_assistant_message("s", "a pear", entry_id="m-2")
    await ledger.edit_entry("s", "m-1", "a plum")
    await ledger.edit_entry("s", "m-2", "an apple tart")
    at = (await ledger.get_state("s")).version
    assert [(each.entry_id, each.version) for each in (await ledger.find("s", "apple")).matches] == [("m-2", 3)]
    (first,) = (await ledger.find("s", "APPLE", version=3)).matches
    assert (first.entry_id, first.count, first.preview) == ("m-1", 2, "An Apple, an apple (a+b)")
    assert (await ledger.find("s", "apple", version=3, ignore_case=False)).matches[0].count == 1
    assert (await ledger.find("s", "(a+b)", version=3)).matches, "exact text, not a pattern"
    for number in range(3):
        await ledger.add_user_message("s", f"apple {number}")
    await ledger.settle()
    whole = await ledger.find("s", "apple")
    assert [each.kind for each in whole.matches].count("summary") == 1
    pages, after = [], 0
    while after is not None:
        page = await ledger.find("s", "apple", after=after, limit=1)
        pages += page.matches
        after = page.next_after
    assert tuple(pages) == whole.matches
    assert (whole.next_after, whole.scanned_to) == (None, (await ledger.get_state("s")).version)
    assert len((await ledger.find("s", "apple", version=at)).matches) == 1
    monkeypatch.setattr(exact_text, "_PAGE_S", -1.0)
    early = await ledger.find("s", "apple")
    assert early.next_after == early.scanned_to == 2
    for text in ("", "x" * 1_001):
        with pytest.raises(InvalidInput):
            await ledger.find("s", text)
    with pytest.raises(SessionNotFound):
        await ledger.find("nobody", "x")
    with pytest.raises(VersionNotFound):
        await ledger.find("s", "x", version=999)


async def test_a_list_that_forgets_how_summaries_ended_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """Negative control."""
    ledger = ledger_over(InMemoryStore(), config=CONFIGS["folds"])
    ledger.set_summarizer(None, lambda prompt: "short")
    for number in range(1, 30):
        await ledger.add_user_message("s", f"{number} " + "and more to say about this " * 20)
        await ledger.settle("s")
    folded = [row.status for row in (await ledger.list_summaries("s")).summaries]
    assert set(folded) == {"folded", "live"}

    async def nothing(*args: object, **options: object) -> dict[str, object]:
        return {}

    monkeypatch.setattr(past_summaries, "read_ends", nothing)
    assert [row.status for row in (await ledger.list_summaries("s")).summaries] != folded
