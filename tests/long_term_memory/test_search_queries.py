"""Numbers in a search of long-term memory: one sentence says which are accepted."""

import math

import pytest

from ledger.errors import InvalidInput
from ledger.long_term_memory.search_queries import number_of


@pytest.mark.parametrize(
    ("value", "most", "message"),
    [(-1, 100, "limit: must be between 0 and 100"), (-1, math.inf, "limit: must be finite and at least 0")],
)
def test_a_number_out_of_range_is_refused_with_its_bounds(value: float, most: float, message: str) -> None:
    with pytest.raises(InvalidInput) as refused:
        number_of(value, field="limit", least=0, most=most)
    assert str(refused.value) == message
