"""The Claude Agent SDK is fetched, as its own tests do."""

from typing import Any

import pytest

from tests.adapters.claude_agent.conftest import sdk, source

__all__ = ["sdk", "source"]


@pytest.fixture(autouse=True)
def _sdk(request: pytest.FixtureRequest) -> Any:
    if "claude_agent" in request.node.name:
        request.getfixturevalue("sdk")
