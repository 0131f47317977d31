"""Messages of providers over HTTP, and requests of a context. Source: adapters PM-1, PM-2."""

import httpx

from tests.support.messages import ANTHROPIC, CHAT, RESPONSES


def test_messages_come_back_as_a_request_of_each_shape(api: httpx.Client, session: str) -> None:
    for at, (form, messages, key) in enumerate(
        (("openai", CHAT[1:], "messages"), ("responses", RESPONSES, "input"), ("anthropic", ANTHROPIC, "messages"))
    ):
        added = api.post(f"/v1/sessions/{session}-{at}/messages", json={"messages": messages})
        assert added.status_code == 201, added.text
        shown = api.get(f"/v1/sessions/{session}-{at}/context", params={"format": form}).json()
        assert (shown["messages"], shown["text"]) == (None, None)
        assert shown["request"][key][:-1] == messages[:-1]


def test_what_is_no_message_is_refused(api: httpx.Client, session: str) -> None:
    refused = api.post(f"/v1/sessions/{session}/messages", json={"messages": [{"text": "hello"}]})
    assert (refused.status_code, refused.json()["code"]) == (422, "bad_shape")
    assert api.get(f"/v1/sessions/{session}/context").status_code == 404
