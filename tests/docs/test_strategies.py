"""The pages of the strategies say what the code says: fields, defaults, configs, pictures, and the plug-in."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest
from pydantic import BaseModel

from ledger.events.strict_json import parse
from projections import conditions
from projections.memory_config import config
from projections.memory_config.config import MemoryConfig
from projections.strategies import WINDOWS
from projections.strategies.base import CompactionConfig, SummarizerConfig
from projections.strategies.preserving import KINDS, TriggerLimit
from projections.strategies.summarizer import KnowledgeBase
from tests.support.pages import ROOT, blocks, name_of
from tests.support.strategy_pages import PAGES, STRATEGIES, page_of, section, tables

CONFIGS = sorted((ROOT / "examples" / "configs").glob("*.json"))
#: Page and heading of the tables that describe other models.
PARTS: dict[tuple[str, str], type[BaseModel]] = {
    ("config.md", "Summaries"): SummarizerConfig,
    ("config.md", "Watching a limit"): TriggerLimit,
    ("compactions.md", "Knowledge base"): KnowledgeBase,
}
COMMON = {"type", "key", "on_failure"}
_JSON = msgspec.json.Encoder(decimal_format="number", enc_hook=lambda model: model.model_dump(mode="json"))


def defaults(model: type[BaseModel], *without: str) -> dict[str, str]:
    """Return what a table of *model* should say."""
    fields = {name: field for name, field in model.model_fields.items() if name not in without}
    return {
        name: "required" if field.is_required() else msgspec.json.format(_JSON.encode(field.default), indent=0).decode()
        for name, field in fields.items()
    }


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_page_has_the_fields_and_defaults_of_its_strategy(strategy: str) -> None:
    expected = defaults(STRATEGIES[strategy].config, *COMMON)
    assert tables(page_of(strategy), f"`{strategy}`") == ([expected] if expected else [])


@pytest.mark.parametrize(("page", "heading"), PARTS)
def test_a_table_has_the_fields_and_defaults_of_its_part(page: str, heading: str) -> None:
    assert tables(PAGES / page, heading) == [defaults(PARTS[page, heading])]


def test_the_config_page_has_the_fields_of_a_config_and_of_every_compaction() -> None:
    whole = {**defaults(MemoryConfig), "window": '{"type": "full"}', "summarizer": "{}"}
    assert tables(PAGES / "config.md", "The memory config") == [whole, defaults(CompactionConfig, "type")]


def test_all_kinds_that_can_be_preserved_are_named() -> None:
    text = section(PAGES / "windows.md", "Preserved kinds")
    assert set(re.findall(r"`(\w+)`", text.partition("Other names")[0])) == KINDS


def _json_blocks() -> list[Any]:
    pages = sorted(PAGES.glob("*.md"))
    found = [(page, at, block) for page in pages for at, block in enumerate(blocks(page), start=1)]
    return [
        pytest.param(block.text, id=f"{name_of(page)}-{at}") for page, at, block in found if block.language == "json"
    ]


@pytest.mark.parametrize("text", _json_blocks())
def test_every_config_on_a_page_loads(text: str) -> None:
    loaded = config.load(parse(text.encode()))
    assert config.load(config.dump(loaded)) == loaded


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_section_begins_with_a_picture_and_the_example_config(strategy: str) -> None:
    text = section(page_of(strategy), f"`{strategy}`")
    (first, *_) = re.findall(r"^```json\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    example = parse((ROOT / "examples" / "configs" / f"{strategy}.json").read_bytes())
    assert parse(first.encode()) == example
    assert f"](../figures/{strategy}.png)" in text.partition("```")[0]


def types(loaded: MemoryConfig) -> set[str]:
    return {loaded.window.type, *(compaction.type for compaction in loaded.compactions)}


@pytest.mark.parametrize("file", CONFIGS, ids=lambda file: file.stem)
def test_an_example_config_loads_and_has_the_strategy_it_is_named_for(file: Path) -> None:
    assert file.stem in types(config.load(parse(file.read_bytes())))


def test_every_strategy_has_an_example_config() -> None:
    missing = STRATEGIES.keys() - {file.stem for file in CONFIGS}
    assert not missing, f"put a config of each of {sorted(missing)} into examples/configs, named for its type"
    assert {file.stem for file in CONFIGS} == STRATEGIES.keys()


def test_the_pictures_and_the_table_are_those_the_code_gives() -> None:
    figures, images = pytest.importorskip("tools.figures"), pytest.importorskip("PIL.Image")
    found = figures.all_rasters()
    for strategy, item in found.items():
        file = figures.TARGET / f"{strategy}.png"
        assert file.stat().st_size < 60_000
        with images.open(file) as picture:
            assert picture.info["Description"] == item.digest, (
                f"{strategy} keeps other entries; run: make docs-generate"
            )
    assert figures.table(found) in figures.OVERVIEW.read_text(), "run: make docs-generate"
    assert {file.stem for file in figures.TARGET.iterdir()} == STRATEGIES.keys()


@pytest.mark.full
@pytest.mark.processes
def test_the_strategy_of_another_package_is_found_by_its_entry_point(tmp_path: Path) -> None:
    found = blocks(PAGES / "your-own.md")
    module = next(block.text for block in found if block.language == "python")
    named = next(block.text for block in found if block.language == "toml").splitlines()
    (tmp_path / "newest.py").write_text(module)
    installed = tmp_path / "newest-1.0.dist-info"
    installed.mkdir()
    (installed / "METADATA").write_text("Metadata-Version: 2.1\nName: newest\nVersion: 1.0\n")
    (installed / "entry_points.txt").write_text("[memory_ledger.strategies]\n" + named[1].replace('"', ""))
    code = """
from ledger import SyncMemoryLedger
from ledger.stores.in_memory import InMemoryStore

config = {"window": {"type": "newest", "count": 2}}
with SyncMemoryLedger.open(namespace="own", store=InMemoryStore(), config=config) as ledger:
    for text in ("one", "two", "three"):
        ledger.add_user_message("s", text)
    print([entry.content for entry in ledger.get_context("s").entries])
"""
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env={"PYTHONPATH": f"{tmp_path}:{ROOT}", "HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "['two', 'three']\n", done.stderr
    assert named[0] == '[project.entry-points."memory_ledger.strategies"]'


def test_a_field_that_drifted_is_noticed(tmp_path: Path) -> None:
    """The control: another default, or a missing line, gives another table."""
    text = (PAGES / "windows.md").read_text()
    for wrong in (text.replace("`10000`", "`1000`"), re.sub(r"^\| `conditions`.*\n", "", text, flags=re.MULTILINE)):
        page = tmp_path / "windows.md"
        page.write_text(wrong)
        assert wrong != text
        assert tables(page, "`max_tokens`") != [defaults(WINDOWS["max_tokens"].config, *COMMON)]


def test_the_config_page_shows_conditions_and_their_limits() -> None:
    page = PAGES / "config.md"
    (shown,) = (block.text for block in blocks(page) if block.language == "text")
    for line in shown.splitlines():
        conditions.check(line)
    limits = (conditions.CHARACTERS, conditions.NODES, conditions.DEPTH, conditions.LITERAL, conditions.PER_STRATEGY)
    last = page.read_text().rpartition("A condition has at most")[2]
    assert tuple(map(int, re.findall(r"\d+", last)))[:5] == limits
