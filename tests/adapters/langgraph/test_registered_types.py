"""Stored bytes are never code: only registered types are loaded. Source: adapters LG-16."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from pathlib import Path
from typing import Any

import ormsgpack
import pytest
from langchain_core.messages import HumanMessage
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.base.id import uuid6
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from pydantic import BaseModel

from ledger.adapters.langgraph import LedgerSaver
from ledger.adapters.langgraph.registered_types import RegisteredType
from ledger.errors import InvalidInput, Unreadable
from ledger.stores.in_memory import InMemoryStore
from tests.support.ledgers import ledger_over

THREAD: Any = {"configurable": {"thread_id": "t", "checkpoint_ns": ""}}


class Planting(JsonPlusSerializer):
    """A writer that stores bytes of its own making, as somebody with a write token or an import can."""

    def __init__(self, planted: tuple[str, bytes]) -> None:
        super().__init__(allowed_msgpack_modules=None)
        self._planted = planted

    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return self._planted if obj == "planted" else super().dumps_typed(obj)


class Reversing:
    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "reversed", plaintext[::-1]

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext[::-1]


class Weather(BaseModel):
    town: str


@dataclass
class Place:
    name: str


class Color(Enum):
    RED = "red"


def extension(code: int, *parts: Any) -> Any:
    return ormsgpack.Ext(code, ormsgpack.packb(parts))


async def put(saver: LedgerSaver, values: dict[str, Any]) -> Any:
    checkpoint = empty_checkpoint()
    versions: dict[str, Any] = {name: saver.get_next_version(None, None) for name in values}
    checkpoint["id"] = str(uuid6(clock_seq=-2))
    checkpoint["channel_versions"] = versions
    checkpoint["channel_values"] = values
    return await saver.aput(THREAD, checkpoint, {"source": "loop", "step": 0}, versions)


def _crafted(mark: Path) -> dict[str, tuple[str, bytes]]:
    command = f"touch {mark}"
    forms = {
        "one argument": extension(0, "os", "system", command),
        "arguments": extension(1, "os", "system", (command,)),
        "keywords": extension(2, "os", "system", {"command": command}),
        "a method": extension(3, "os", "path", command, "system"),
        "pydantic 1": extension(4, "subprocess", "Popen", {"args": ["touch", str(mark)]}),
        "pydantic 2": extension(5, "subprocess", "Popen", {"args": ["touch", str(mark)]}, "model_validate_json"),
        "in a registered type": extension(0, "builtins", "set", (extension(0, "os", "system", command),)),
        "a program's own class": extension(2, __name__, "Place", {"name": "Rome"}),
    }
    return {name: ("msgpack", ormsgpack.packb([form, "rest" * 100])) for name, form in forms.items()}


SERIALIZERS: dict[str, Callable[[], SerializerProtocol | None]] = {
    "none": lambda: None,
    "the SDK's": JsonPlusSerializer,
    "encrypted": lambda: EncryptedSerializer(Reversing(), JsonPlusSerializer()),
}


@pytest.mark.parametrize("serde", SERIALIZERS)
@pytest.mark.parametrize("form", _crafted(Path()))
async def test_a_crafted_value_calls_nothing_and_is_named__LG_16(form: str, serde: str, tmp_path: Path) -> None:
    mark = tmp_path / "called"
    store = InMemoryStore()
    await put(LedgerSaver(ledger_over(store), serde=Planting(_crafted(mark)[form])), {"x": "planted"})
    with pytest.raises(Unreadable, match=r"allowed_types") as refused:
        await LedgerSaver(ledger_over(store), serde=SERIALIZERS[serde]()).aget_tuple(THREAD)
    assert not mark.exists()
    assert any(name in str(refused.value) for name in ("os.system", "os.path.system", "subprocess.Popen", "Place"))


async def test_json_of_an_object_is_refused__LG_16() -> None:
    store = InMemoryStore()
    planted = b'{"lc": 2, "type": "constructor", "id": ["builtins", "set"], "args": [["x"]]}'
    await put(LedgerSaver(ledger_over(store), serde=Planting(("json", planted))), {"x": "planted"})
    with pytest.raises(Unreadable, match="json"):
        await LedgerSaver(ledger_over(store)).aget_tuple(THREAD)


async def test_the_permissive_serializer_calls_what_was_planted__control(tmp_path: Path) -> None:
    mark = tmp_path / "called"
    JsonPlusSerializer(allowed_msgpack_modules=True).loads_typed(_crafted(mark)["one argument"])
    assert mark.exists()


async def test_types_that_a_program_registers_come_back_equal__LG_16() -> None:
    values = {"w": Weather(town="Oslo"), "p": Place("Rome"), "c": [Color.RED], "messages": [HumanMessage("hi", id="1")]}
    types: list[RegisteredType] = [Weather, (__name__, "Place"), Color]
    store = InMemoryStore()
    await put(LedgerSaver(ledger_over(store)), values)
    found = await LedgerSaver(ledger_over(store), allowed_types=types).aget_tuple(THREAD)
    assert found is not None
    assert found.checkpoint["channel_values"] == values
    encrypted = LedgerSaver(ledger_over(store), serde=SERIALIZERS["encrypted"](), allowed_types=types)
    found = await encrypted.aget_tuple(THREAD)
    assert found is not None
    assert found.checkpoint["channel_values"] == values
    with pytest.raises(Unreadable, match=r"test_registered_types\.Color"):
        await LedgerSaver(ledger_over(store)).aget_tuple(THREAD)


async def test_langgraph_adds_the_types_of_a_graph_in_its_strict_mode__LG_16() -> None:
    store = InMemoryStore()
    await put(LedgerSaver(ledger_over(store)), {"p": Place("Rome")})
    saver = LedgerSaver(ledger_over(store)).with_allowlist([(__name__, "Place")])
    found = await saver.aget_tuple(THREAD)
    assert found is not None
    assert found.checkpoint["channel_values"] == {"p": Place("Rome")}


def test_types_for_a_serializer_that_has_its_own_list_are_refused__LG_16() -> None:
    serde = JsonPlusSerializer(allowed_msgpack_modules=[Weather])
    with pytest.raises(InvalidInput, match="allowed_types"):
        LedgerSaver(ledger_over(InMemoryStore()), serde=serde, allowed_types=[Place])
    with pytest.raises(InvalidInput, match="allowed_types"):
        LedgerSaver(ledger_over(InMemoryStore()), allowed_types=["os.system"])  # type: ignore[list-item]
