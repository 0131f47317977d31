"""The prefix rule: what a call adds to histories that are known. Source: adapters IN-3."""

import random

import pytest

from ledger.formats.importers.elements.prefix import (
    Placement,
    SharedBranch,
    branch_name,
    chained_ids,
    place,
    shared_entries,
)

HI: list[object] = ["user", "Hi"]
HELLO: list[object] = ["assistant", "Hello"]
BYE: list[object] = ["user", "Bye"]


def placed(call: list[list[object]], *branches: list[list[object]]) -> Placement:
    ids = chained_ids(call)
    return place(len(ids), [shared_entries(ids, chained_ids(branch)) for branch in branches])


@pytest.mark.parametrize(
    ("call", "branches", "goes"),
    [
        ([HI, HELLO], [], Placement(None, 0)),
        ([HI, HELLO, BYE], [[HI, HELLO]], Placement(0, 2)),
        ([HI], [[HI, HELLO]], Placement(0, 1)),
        ([HI, BYE], [[HI, HELLO]], Placement(0, 1, forks=True)),
        ([BYE], [[HI, HELLO]], Placement(None, 0, forks=True)),
        ([HI, BYE, HELLO], [[HI, HELLO], [HI, BYE]], Placement(1, 2)),
        ([HI, BYE, BYE], [[HI, HELLO], [HI, BYE, HELLO]], Placement(1, 2, forks=True)),
        ([HI, HELLO], [[]], Placement(0, 0)),
    ],
)
def test_a_call_goes_on_where_a_branch_ends__IN_3(
    call: list[list[object]], branches: list[list[list[object]]], goes: Placement
) -> None:
    assert placed(call, *branches) == goes


def test_each_part_of_what_is_compared_counts__IN_3() -> None:
    """The negative control: a compare that leaves one of them out would find these equal."""
    first: list[object] = ["call", "c1", "find", {"order": 1}]
    others: list[list[object]] = [
        ["call", "c2", *first[2:]],
        [*first[:2], "search", first[3]],
        [*first[:3], {"order": 2}],
        ["user", "c1"],
    ]
    for other in others:
        assert placed([HI, other], [HI, first]).forks
    assert not placed([HI, list(first)], [HI, first]).forks
    assert placed([HELLO, HI], [HI, HELLO]).forks, "the order counts"


def test_histories_in_any_order_make_the_same_branches__IN_3(seed: int) -> None:
    chosen = random.Random(seed)
    for _ in range(100):
        whole = [[role, chosen.choice("ab")] for role in ("user", "assistant") * 4]
        other = [*whole[: chosen.randint(1, 6)], ["user", "c"], ["assistant", "d"]]
        calls = [history[:until] for history in (whole, other) for until in range(2, len(history) + 1)]
        chosen.shuffle(calls)
        branches: list[list[str]] = []
        for call in [*calls, *calls]:
            ids = chained_ids(call)
            goes = place(len(ids), [shared_entries(ids, branch) for branch in branches])
            if goes.branch is None or goes.forks:
                branches.append(list(ids))
            else:
                branches[goes.branch] += ids[goes.first :]
        assert sorted(branches) == sorted([chained_ids(whole), chained_ids(other)])


def test_branches_are_numbered_from_the_session__IN_3() -> None:
    assert [branch_name("s", number) for number in range(3)] == ["s", "s~2", "s~3"]
    assert place(1, [SharedBranch(0, ends=True)]) == Placement(0, 0)
