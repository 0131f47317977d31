"""A plugin that puts a service in the place of the SDK's own that forgets the state of users."""

from typing import Any

from google.adk.sessions import sqlite_session_service
from upstream import ServiceUnderTest, pytest_collection_modifyitems

__all__ = ["pytest_collection_modifyitems"]


class Forgetful(ServiceUnderTest):
    """Stores events without the state that they change."""

    async def append_event(self, session: Any, event: Any) -> Any:
        event.actions.state_delta = {}
        return await super().append_event(session, event)


sqlite_session_service.SqliteSessionService = Forgetful
