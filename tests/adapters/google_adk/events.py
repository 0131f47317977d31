"""Events and sessions of Google ADK for the tests."""

from typing import Any

from google.adk.events import Event, EventActions
from google.adk.sessions import BaseSessionService, Session
from google.genai import types

MARA: Any = {"app_name": "shop", "user_id": "mara"}
S: Any = {**MARA, "session_id": "s"}


def said(text: str, **fields: Any) -> Event:
    content = types.Content(role="user", parts=[types.Part(text=text)])
    return Event(invocation_id="i", author="user", content=content, **fields)


def changing(**state: Any) -> Event:
    return Event(invocation_id="i", author="guide", actions=EventActions(state_delta=state))


async def got(service: BaseSessionService, **more: Any) -> Session:
    found = await service.get_session(**{**S, **more})
    assert found is not None
    return found


def texts(session: Session) -> list[str]:
    return [event.content.parts[0].text for event in session.events if event.content]  # type: ignore[index,misc]
