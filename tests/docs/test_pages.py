"""The pages name what there is: no dead link, no command, method, setting or field left out."""

import inspect
import re
from pathlib import Path

import pytest
import typer
from pydantic_settings import BaseSettings

from ledger.cli.app import app
from ledger.memory import MemoryLedger
from ledger.server.service_settings import ServiceSettings
from ledger.settings import Settings
from ledger.worker.worker_settings import WorkerSettings
from tests.support.pages import PAGES, ROOT, name_of
from tools import events_page, routes_page
from tools.rules import without_rules


def page(name: str) -> str:
    """Return the text of a page of docs/."""
    return (ROOT / "docs" / name).read_text()


@pytest.mark.parametrize("path", PAGES, ids=name_of)
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)]+)\)", path.read_text()):
        name, _, anchor = target.partition("#")
        found = (path.parent / name).resolve() if name else path
        assert found.exists(), f"{path.name} links to {target}"
        if anchor:
            headings = re.findall(r"^#+ (.+)$", found.read_text(), re.MULTILINE)
            anchors = {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}
            assert anchor in anchors, f"{path.name} links to {target}"


def test_the_events_page_is_the_one_the_code_gives() -> None:
    assert page("events.md") == events_page.events_markdown(), "run: make docs-generate"


def test_the_table_of_routes_is_the_one_the_routes_give() -> None:
    written = page("http-api.md").partition(routes_page.BEGIN)[2].partition(f"\n{routes_page.END}")[0]
    assert written == routes_page.routes_markdown(), "run: make docs-generate"


def test_every_command_and_option_environment_is_on_the_command_line_page() -> None:
    found = page("command-line.md")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]  # a group
        below = [f"{name} {each}" for each in getattr(command, "commands", ())] or [name]
        for full in below:
            assert re.search(rf"^\| `{full}\b", found, re.MULTILINE), f"{full} is not in the table"


def test_every_method_is_on_the_library_page() -> None:
    found = page("library.md")
    for name, _ in inspect.getmembers(MemoryLedger, inspect.isroutine):
        if not name.startswith("_") and name not in {"open", "close"}:
            assert f"`{name}(" in found, f"{name} has no row in docs/library.md"


def test_every_setting_is_on_the_operating_page() -> None:
    for name in Settings.model_fields:
        assert f"`MEMORY_LEDGER_{name.upper()}`" in page("operating.md"), name


@pytest.mark.parametrize(("settings", "name"), [(ServiceSettings, "service.md"), (WorkerSettings, "worker.md")])
def test_every_setting_of_the_service_and_of_workers_is_on_its_page(settings: type[BaseSettings], name: str) -> None:
    for field, info in settings.model_fields.items():
        assert f"`{info.validation_alias or field.upper()}`" in page(name), field


def test_every_page_is_in_the_index() -> None:
    """Also a newcomer who starts at the README finds the index. A folder with a README has an index of its own."""
    docs = ROOT / "docs"
    for path in docs.rglob("*.md"):
        index = path.with_name("README.md")
        indexes = (
            [docs / "README.md"] if path.name == "README.md" or not index.exists() else [docs / "README.md", index]
        )
        assert path == docs / "README.md" or any(path in linked(index) for index in indexes), name_of(path)
    assert "(docs/README.md)" in (ROOT / "README.md").read_text()


def linked(path: Path) -> set[Path]:
    """Return the files that a page links to."""
    return {(path.parent / name).resolve() for name in re.findall(r"\]\(([^)#]+)[^)]*\)", path.read_text())}


def test_a_page_without_a_link_is_noticed() -> None:
    assert ROOT / "docs" / "concepts.md" in linked(ROOT / "docs" / "README.md")
    assert ROOT / "docs" / "no-such-page.md" not in linked(ROOT / "docs" / "README.md")


def test_generated_pages_cite_no_rules() -> None:
    assert (
        without_rules("Kept whole (R-GEN-1, R-TOK-4). More (trust H-16).\n\nSource: seed 000, V-1.")
        == "Kept whole. More."
    )
    assert without_rules("A window (see above) of W (40) tokens.") == "A window (see above) of W (40) tokens."
    for text in (events_page.events_markdown(), routes_page.routes_markdown()):
        assert not re.findall(r"[RV]-[0-9A-Z]+-\d+|\b(?:trust|http) [A-Z]-?\d+|Source:", text)


def test_the_typescript_guide_names_methods_that_exist() -> None:
    text = page("guides/from-typescript.md").partition("## Methods")[2].partition("## Options")[0]
    rows = re.findall(r"^\| `(\w+).*?\| `(\w+)", text, re.MULTILINE)
    assert len(rows) == 14
    for theirs, ours in rows:
        assert getattr(MemoryLedger, ours).__doc__, theirs
    renamed = {(theirs, ours) for theirs, ours in rows if theirs.lower() != ours.replace("_", "")}
    assert renamed == {("setSummarizeCallback", "set_summarizer")}
