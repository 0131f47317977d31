"""SQL computes the same ids of names as Python. Source: trust R-1."""

import random

import pytest

from ledger.events.ids import namespace_id, stream_id
from tests.support.databases import Server

pytestmark = pytest.mark.postgres


@pytest.mark.parametrize("server_fixture", ["server", "server_15"])
def test_ids_of_names_are_those_of_python(request: pytest.FixtureRequest, server_fixture: str, seed: int) -> None:
    server: Server = request.getfixturevalue(server_fixture)
    chance = random.Random(seed)
    space = namespace_id("default")
    with server.fresh() as name, server.superuser(name) as mighty:
        for length in (*range(70), 100, 500, 512):
            user, session = ("".join(chance.choices("aZ9-é記🧠", k=size)) for size in (length // 2, length))
            row = mighty.execute("SELECT ledger.name_uuid(%s, %s)", (space, f"{user}\x1f{session}")).fetchone()
            assert row == (stream_id(space, user, session),)
