"""An OpenAI-compatible endpoint on loopback; each test scripts what it answers."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import SHUT_RDWR
from typing import Any

USAGE = {"prompt_tokens": 120, "completion_tokens": 7, "total_tokens": 127}


class Endpoint:
    """What was asked of the server, and what it will answer: the script in turn, its last line for ever."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.script: list[Behaviour] = [says("A summary.")]
        self.asked: list[dict[str, Any]] = []
        self.arrived = threading.Event()  # set by the first request
        self.released = threading.Event()  # ends every hanging answer

    def answers(self, *script: "Behaviour") -> None:
        self.script = list(script)

    @property
    def prompts(self) -> list[str]:
        return [request["messages"][-1]["content"] for request in self.asked]


class Exchange(BaseHTTPRequestHandler):
    """One request and its answer."""

    endpoint: Endpoint
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        script = self.endpoint.script
        behaviour = script.pop(0) if len(script) > 1 else script[0]
        self.endpoint.asked.append(self.asked)
        self.endpoint.arrived.set()
        with suppress(ConnectionError):
            behaviour(self)

    def send(self, body: bytes, status: int = 200, **headers: str) -> None:
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        pass


Behaviour = Callable[[Exchange], None]


def says(text: object, *, usage: object = USAGE, finish_reason: str = "stop", **message: object) -> Behaviour:
    """Answer with *text*, and with other fields of the message."""
    choice = {"index": 0, "message": {"role": "assistant", "content": text, **message}, "finish_reason": finish_reason}
    return gives(
        {"id": "1", "object": "chat.completion", "created": 1, "model": "m", "choices": [choice], "usage": usage}
    )


def gives(value: object) -> Behaviour:
    """Answer with any JSON."""
    return raw(json.dumps(value).encode())


def raw(body: bytes, status: int = 200) -> Behaviour:
    """Answer with any bytes, or any status; clients may try again at once."""
    return lambda exchange: exchange.send(body, status, retry_after_ms="1")


def embeds(vector_of: Callable[[str], list[float]]) -> Behaviour:
    """Answer ``/embeddings`` with a vector for each text, the last one first: only their index says whose they are."""

    def answer(exchange: Exchange) -> None:
        rows = [
            {"object": "embedding", "index": at, "embedding": vector_of(text)}
            for at, text in enumerate(exchange.asked["input"])
        ]
        usage = {"prompt_tokens": 1, "total_tokens": 1}
        gives({"object": "list", "model": "m", "data": rows[::-1], "usage": usage})(exchange)

    return answer


def status(code: int) -> Behaviour:
    return raw(b'{"error": {"message": "scripted"}}', code)


def echo(exchange: Exchange) -> None:
    says(exchange.asked["messages"][-1]["content"])(exchange)


def hang(exchange: Exchange) -> None:
    """Answer nothing until the endpoint is released, then the summary."""
    exchange.endpoint.released.wait(60)
    says("A late summary.")(exchange)


def drip(exchange: Exchange) -> None:
    """Send a byte now and then, for ever: no single wait is long."""
    exchange.send_response(200)
    exchange.end_headers()
    while not exchange.endpoint.released.wait(0.05):
        exchange.wfile.write(b" ")
    exchange.close_connection = True


def hang_up(exchange: Exchange) -> None:
    exchange.close_connection = True
    exchange.connection.shutdown(SHUT_RDWR)


@contextmanager
def serving() -> Iterator[Endpoint]:
    """Yield an endpoint that answers on a port of its own."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Exchange) as server:
        server.daemon_threads = True
        endpoint = Endpoint(f"http://127.0.0.1:{server.server_port}/v1")
        server.RequestHandlerClass = type("Answering", (Exchange,), {"endpoint": endpoint})
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        try:
            yield endpoint
        finally:
            endpoint.released.set()
            server.shutdown()
