"""Conversations in three shapes, with an image, thinking, two calls at once and an error."""

from base64 import b64encode
from typing import Any

IMAGE = b64encode(bytes(range(256)) * 4).decode()
_URL = f"data:image/png;base64,{IMAGE}"
_PICTURE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": IMAGE}}

ANTHROPIC: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "text", "text": "What is in this picture?"},
            _PICTURE,
        ],
    },
    {
        "role": "assistant",
        "content": [
            {"type": "thinking", "thinking": "A tool may know.", "signature": "c2ln"},
            {"type": "text", "text": "I look."},
            {"type": "tool_use", "id": "toolu_1", "name": "zoom", "input": {"factor": 2}},
            {"type": "tool_use", "id": "toolu_2", "name": "zoom", "input": {"factor": 4}},
        ],
    },
    {
        "role": "user",
        "content": [
            {
                "type": "tool_result",
                "tool_use_id": "toolu_1",
                "content": [{"type": "text", "text": "one pixel"}, _PICTURE],
            },
            {"type": "tool_result", "tool_use_id": "toolu_2", "content": "too large", "is_error": True},
            {"type": "text", "text": "And now?"},
        ],
    },
    {"role": "assistant", "content": "One pixel."},
]

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Answer briefly."},
    {
        "role": "user",
        "name": "ann",
        "content": [
            {"type": "text", "text": "What is in this picture?"},
            {"type": "image_url", "image_url": {"url": _URL, "detail": "low"}},
        ],
    },
    {
        "role": "assistant",
        "content": "I look.",
        "tool_calls": [
            {
                "id": f"call_{at}",
                "type": "function",
                "function": {"name": "zoom", "arguments": f'{{"factor":{at}}}'},
            }
            for at in (2, 4)
        ],
    },
    {"role": "tool", "tool_call_id": "call_2", "content": "one pixel"},
    {"role": "tool", "tool_call_id": "call_4", "content": "too large"},
    {"role": "assistant", "content": "One pixel."},
]

RESPONSES: list[dict[str, Any]] = [
    {
        "role": "user",
        "content": [
            {"type": "input_text", "text": "What is in this picture?"},
            {"type": "input_image", "image_url": _URL, "detail": "auto"},
        ],
    },
    {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "c2VjcmV0"},
    {"type": "function_call", "id": "fc_1", "call_id": "call_2", "name": "zoom", "arguments": '{"factor": 2}'},
    {"type": "function_call_output", "call_id": "call_2", "output": "one pixel"},
    {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [{"type": "output_text", "text": "One pixel.", "annotations": []}],
    },
]
