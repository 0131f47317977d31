"""Each kind of block of each provider's shape, with what it costs in a request."""

import json
from base64 import b64encode
from collections.abc import Callable
from random import Random
from typing import Any, Final

from tests.support.carried import (
    Made,
    after,
    answered,
    anthropic_cost,
    called,
    document,
    from_image,
    from_text,
    image,
    item,
    openai_cost,
    pdf,
    source,
    text_file,
    user,
)

_URL: Final = "https://e.example/a.png"
_PDF_URL: Final = "https://e.example/a.pdf"


def _address(*blocks: dict[str, Any], cost: int = 1_500) -> Callable[[Random], Made]:
    """Return what makes a message with media of which only the address or the id is known."""
    return lambda _: (user(*blocks), cost)


def _server_tool(kind: str, content: Any, **call: Any) -> list[dict[str, Any]]:
    asked = {"type": "server_tool_use", "id": "w", "name": kind, "input": {"query": "x"}, **call}
    return after("go", asked, {"type": f"{kind}_tool_result", "tool_use_id": "w", "content": content})


def _output(*parts: dict[str, Any], kind: str = "function_call") -> list[dict[str, Any]]:
    given = {"arguments": "{}"} if kind == "function_call" else {"input": "x"}
    return [
        {"type": kind, "call_id": "c", "name": "look", **given},
        {"type": f"{kind}_output", "call_id": "c", "output": [*parts]},
    ]


def _screenshot(media: str, data: str) -> list[dict[str, Any]]:
    output = {"type": "computer_screenshot", "image_url": f"data:{media};base64,{data}"}
    action = {"type": "screenshot"}
    return [
        {"type": "computer_call", "call_id": "c", "action": action, "status": "completed"},
        {"type": "computer_call_output", "call_id": "c", "output": output},
    ]


def _of_assistant(**fields: Any) -> list[dict[str, Any]]:
    return [{"role": "user", "content": "go"}, {"role": "assistant", "content": "ok", **fields}]


def _audio(make: Callable[[str], list[dict[str, Any]]]) -> Callable[[Random], Made]:
    data = b64encode(b"RIFF....WAVE" + bytes(96_000)).decode()
    return lambda _: (make(data), 20)  # 2 s at OpenAI's 10 tokens a second


def _data_url(media: str, data: str) -> str:
    return f"data:{media};base64,{data}"


ANTHROPIC: Final[dict[str, Callable[[Random], Made]]] = {
    "text": from_text(lambda text: user({"type": "text", "text": text})),
    "text with citations": from_text(
        lambda text: after("go", {"type": "text", "text": text, "citations": [{"cited_text": "a", "title": "b"}]})
    ),
    "image": from_image(lambda media, data: user(source(media, data)), anthropic_cost),
    "image in a result": from_image(lambda media, data: answered([source(media, data)]), anthropic_cost),
    "image by address": _address({"type": "image", "source": {"type": "url", "url": _URL}}),
    "image by id": _address({"type": "image", "source": {"type": "file", "file_id": "file_1"}}),
    "document": from_text(lambda text: user(document({"type": "text", "media_type": "text/plain", "data": text}))),
    "document of blocks": from_text(
        lambda text: user(document({"type": "content", "content": [{"type": "text", "text": text}]}))
    ),
    "document of an image": from_image(
        lambda media, data: user(document({"type": "content", "content": [source(media, data)]})), anthropic_cost
    ),
    "document with context": from_text(
        lambda text: user({**document({"type": "text", "data": "ok"}), "title": "t", "context": text})
    ),
    "pdf": pdf,
    "document by id": _address(document({"type": "file", "file_id": "file_1"})),
    "document by address": _address(document({"type": "url", "url": _PDF_URL})),
    "file in a container": _address({"type": "container_upload", "file_id": "file_1"}),
    "search result": from_text(
        lambda text: user(
            {"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": text}]}
        )
    ),
    "search result in a result": from_text(
        lambda text: answered(
            [{"type": "search_result", "source": "s", "title": "t", "content": [{"type": "text", "text": text}]}]
        )
    ),
    "thinking": from_text(lambda text: after("go", {"type": "thinking", "thinking": text, "signature": "s"})),
    "signature": from_text(lambda text: after("go", {"type": "thinking", "thinking": "hm", "signature": text})),
    "redacted thinking": from_text(lambda text: after("go", {"type": "redacted_thinking", "data": text})),
    "thinking before a call": from_text(
        lambda text: [
            {
                "role": "assistant",
                "content": [{"type": "thinking", "thinking": text, "signature": "s"}, *answered("ok")[0]["content"]],
            },
            answered("ok")[1],
        ]
    ),
    "call": from_text(lambda text: answered("ok", input={"t": text})),
    "result": from_text(answered),
    "result of blocks": from_text(lambda text: answered([{"type": "text", "text": text}])),
    "document in a result": from_text(lambda text: answered([document({"type": "text", "data": text})])),
    "web search": from_text(
        lambda text: _server_tool(
            "web_search", [{"type": "web_search_result", "url": "https://e.example", "encrypted_content": text}]
        )
    ),
    "web fetch": from_text(
        lambda text: _server_tool(
            "web_fetch",
            {"type": "web_fetch_result", "url": _URL, "content": document({"type": "text", "data": text})},
        )
    ),
    "code execution": from_text(
        lambda text: _server_tool(
            "code_execution", {"type": "code_execution_result", "stdout": text, "stderr": "", "return_code": 0}
        )
    ),
    "code that a server runs": from_text(lambda text: _server_tool("code_execution", [], input={"code": text})),
    "editor of a server": from_text(
        lambda text: _server_tool(
            "text_editor_code_execution",
            {"type": "text_editor_code_execution_view_result", "file_type": "text", "content": text},
        )
    ),
    "result of mcp": from_text(
        lambda text: after(
            "go",
            {"type": "mcp_tool_use", "id": "w", "name": "q", "server_name": "s", "input": {}},
            {"type": "mcp_tool_result", "tool_use_id": "w", "content": [{"type": "text", "text": text}]},
        )
    ),
    "unknown block": from_text(lambda text: after("go", {"type": "of_next_month", "payload": {"deep": [text]}})),
}

RESPONSES: Final[dict[str, Callable[[Random], Made]]] = {
    "text": from_text(lambda text: [{"role": "user", "content": [{"type": "input_text", "text": text}]}]),
    "answer": from_text(
        lambda text: [
            {
                "type": "message",
                "role": "assistant",
                "id": "m",
                "content": [{"type": "output_text", "text": text, "annotations": []}],
            }
        ]
    ),
    "refusal": from_text(
        lambda text: [
            {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "refusal", "refusal": text}]}
        ]
    ),
    "reasoning": from_text(
        lambda text: item(type="reasoning", id="rs", summary=[{"type": "summary_text", "text": text}])
    ),
    "text of reasoning": from_text(
        lambda text: item(type="reasoning", id="rs", summary=[], content=[{"type": "reasoning_text", "text": text}])
    ),
    "encrypted reasoning": from_text(lambda text: item(type="reasoning", id="rs", summary=[], encrypted_content=text)),
    "encrypted reasoning before a call": from_text(
        lambda text: [{"type": "reasoning", "id": "rs", "summary": [], "encrypted_content": text}, *_output()]
    ),
    "compaction": from_text(lambda text: item(type="compaction", id="cm", encrypted_content=text)),
    "code interpreter": from_text(lambda text: item(type="code_interpreter_call", id="ci", code=text, outputs=[])),
    "output of code": from_text(
        lambda text: item(type="code_interpreter_call", id="ci", code="1", outputs=[{"type": "logs", "logs": text}])
    ),
    "file search": from_text(
        lambda text: item(type="file_search_call", id="fs", queries=["x"], results=[{"text": text, "score": 0.5}])
    ),
    "web search": from_text(
        lambda text: item(type="web_search_call", id="ws", action={"type": "search", "query": text})
    ),
    "call of mcp": from_text(
        lambda text: item(type="mcp_call", id="mc", name="q", server_label="s", arguments=text, output="ok")
    ),
    "output of mcp": from_text(
        lambda text: item(type="mcp_call", id="mc", name="q", server_label="s", arguments="{}", output=text)
    ),
    "tools of mcp": from_text(
        lambda text: item(type="mcp_list_tools", id="ml", server_label="s", tools=[{"name": "q", "description": text}])
    ),
    "made image": from_image(lambda _, data: item(type="image_generation_call", id="ig", result=data), openai_cost),
    "call": from_text(
        lambda text: [
            {"type": "function_call", "call_id": "c", "name": "look", "arguments": json.dumps({"t": text})},
            {"type": "function_call_output", "call_id": "c", "output": "ok"},
        ]
    ),
    "custom call": from_text(
        lambda text: [
            {"type": "custom_tool_call", "call_id": "c", "name": "look", "input": text},
            {"type": "custom_tool_call_output", "call_id": "c", "output": "ok"},
        ]
    ),
    "shell call": from_text(
        lambda text: [
            {"type": "local_shell_call", "call_id": "c", "action": {"type": "exec", "command": ["sh", "-c", text]}},
            {"type": "local_shell_call_output", "call_id": "c", "output": "ok"},
        ]
    ),
    "patch": from_text(
        lambda text: [
            {"type": "apply_patch_call", "call_id": "c", "operation": {"type": "update_file", "diff": text}},
            {"type": "apply_patch_call_output", "call_id": "c", "output": "ok"},
        ]
    ),
    "output": from_text(lambda text: _output({"type": "input_text", "text": text})),
    "custom output": from_text(lambda text: _output({"type": "input_text", "text": text}, kind="custom_tool_call")),
    "screenshot": from_image(_screenshot, openai_cost),
    "image in an output": from_image(
        lambda media, data: _output({"type": "input_image", "image_url": _data_url(media, data)}), openai_cost
    ),
    "image": from_image(
        lambda media, data: [
            {"role": "user", "content": [{"type": "input_image", "image_url": _data_url(media, data)}]}
        ],
        openai_cost,
    ),
    "image by address": lambda _: (
        [{"role": "user", "content": [{"type": "input_image", "image_url": _URL, "detail": "high"}]}],
        1_500,
    ),
    "image by id": lambda _: ([{"role": "user", "content": [{"type": "input_image", "file_id": "file_1"}]}], 1_500),
    "file by id": lambda _: ([{"role": "user", "content": [{"type": "input_file", "file_id": "file_1"}]}], 1_500),
    "file by address": lambda _: ([{"role": "user", "content": [{"type": "input_file", "file_url": _PDF_URL}]}], 1_500),
    "file": from_text(
        lambda text: [
            {
                "role": "user",
                "content": [
                    {
                        "type": "input_file",
                        "filename": "a.txt",
                        "file_data": _data_url("text/plain", b64encode(text.encode()).decode()),
                    }
                ],
            }
        ]
    ),
}

CHAT: Final[dict[str, Callable[[Random], Made]]] = {
    "text": from_text(lambda text: [{"role": "user", "content": text}]),
    "instructions": from_text(lambda text: [{"role": "developer", "content": text}]),
    "parts": from_text(
        lambda text: [{"role": "assistant", "content": [{"type": "text", "text": text}, {"type": "text", "text": "b"}]}]
    ),
    "refusal": from_text(lambda text: _of_assistant(content=None, refusal=text)),
    "refusal as a part": from_text(lambda text: _of_assistant(content=[{"type": "refusal", "refusal": text}])),
    "reasoning": from_text(lambda text: _of_assistant(reasoning_content=text)),
    "reasoning of a router": from_text(lambda text: _of_assistant(reasoning=text)),
    "details of reasoning": from_text(
        lambda text: _of_assistant(reasoning_details=[{"type": "reasoning.encrypted", "data": text}])
    ),
    "reasoning before a call": from_text(lambda text: [{**called("x")[0], "reasoning_content": text}, called("x")[1]]),
    "image": from_image(
        lambda media, data: user({"type": "image_url", "image_url": {"url": _data_url(media, data)}}), openai_cost
    ),
    "image, low detail": lambda random: (
        user(
            {
                "type": "image_url",
                "image_url": {"url": _data_url("image/png", image(random)[1]), "detail": "low"},
            }
        ),
        85,
    ),
    "image by address": _address({"type": "image_url", "image_url": {"url": _URL}}),
    "image in a result": from_image(
        lambda media, data: [
            called("x")[0],
            {
                "role": "tool",
                "tool_call_id": "c",
                "content": [{"type": "image_url", "image_url": {"url": _data_url(media, data)}}],
            },
        ],
        openai_cost,
    ),
    "file": from_text(text_file),
    "file by id": _address({"type": "file", "file": {"file_id": "file_1"}}),
    "audio": _audio(lambda data: user({"type": "input_audio", "input_audio": {"format": "wav", "data": data}})),
    "audio of an answer": _audio(lambda data: _of_assistant(audio={"id": "a", "data": data, "transcript": "ok"})),
    "transcript": from_text(lambda text: _of_assistant(audio={"id": "a", "transcript": text})),
    "call": from_text(called),
    "custom call": from_text(
        lambda text: [
            {
                "role": "assistant",
                "content": None,
                "tool_calls": [{"id": "c", "type": "custom", "custom": {"name": "look", "input": text}}],
            },
            {"role": "tool", "tool_call_id": "c", "content": "ok"},
        ]
    ),
    "old call": from_text(
        lambda text: [
            {
                "role": "assistant",
                "content": None,
                "function_call": {"name": "look", "arguments": json.dumps({"t": text})},
            },
            {"role": "function", "name": "look", "content": "ok"},
        ]
    ),
    "result": from_text(lambda text: [called("x")[0], {"role": "tool", "tool_call_id": "c", "content": text}]),
    "result of parts": from_text(
        lambda text: [
            called("x")[0],
            {"role": "tool", "tool_call_id": "c", "content": [{"type": "text", "text": text}]},
        ]
    ),
}

#: The kinds of each shape.
SHAPES: Final = {"anthropic": ANTHROPIC, "responses": RESPONSES, "openai": CHAT}
#: Each kind of block of each shape: how to make messages with it, and what a request needs for them.
KINDS: Final = {f"{shape} {name}": make for shape, kinds in SHAPES.items() for name, make in kinds.items()}
