"""The memory configs of the examples, one for each strategy, to start from."""

import json
from functools import cache

from ledger.application.examples import examples_folder
from ledger.application.json_models.comparison_json import ConfigJson
from ledger.application.json_models.shapes import Shape
from ledger.server.access.callers import ReadCaller
from ledger.server.http.route_kinds import native_router
from projections.memory_config import config as memory_config

router = native_router(prefix="/v1/presets", tags=["proof"])


class PresetShape(Shape):
    """A memory config with all its fields."""

    name: str
    title: str
    config: ConfigJson


class PresetsShape(Shape):
    """The presets, by name."""

    presets: tuple[PresetShape, ...]


@router.get("", operation_id="list_presets")
async def presets(caller: ReadCaller) -> PresetsShape:
    """List memory configs to start from, one for each strategy."""
    return _presets()


@cache
def _presets() -> PresetsShape:
    files = sorted((examples_folder() / "configs").glob("*.json"))
    return PresetsShape(
        presets=tuple(
            PresetShape(
                name=file.stem,
                title=file.stem.replace("_", " ").capitalize(),
                config=memory_config.load(json.loads(file.read_bytes())),
            )
            for file in files
        )
    )
