"""The pages name what there is: no dead link, no command, method, setting or field left out."""

import inspect
import re
from pathlib import Path

import pytest
import typer
from pydantic_settings import BaseSettings

from docs import reference, routes
from ledger.cli.app import app
from ledger.memory import MemoryLedger
from ledger.server.settings import ServiceSettings
from ledger.settings import Settings
from ledger.worker.settings import WorkerSettings
from tests.docs.pages import PAGES, ROOT, name_of


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
    assert page("events.md") == reference.events_markdown(), "run: python docs/reference.py"


def test_the_api_reference_is_the_one_the_routes_give() -> None:
    assert page("api-reference.md") == routes.routes_markdown(), "run: python docs/routes.py"


def test_every_command_and_option_environment_is_on_the_command_line_page() -> None:
    found = page("command-line.md")
    group = typer.main.get_command(app)
    for name, command in group.commands.items():  # type: ignore[attr-defined]  # a group
        below = [f"{name} {each}" for each in getattr(command, "commands", ())] or [name]
        for full in below:
            assert re.search(rf"^\| `{full}\b", found, re.MULTILINE), f"{full} is not in the table"


def test_every_method_is_on_the_library_page() -> None:
    found = page("library.md")
    for name, _ in inspect.getmembers(MemoryLedger, inspect.isfunction):
        if not name.startswith("_") and name != "close":
            assert f"`{name}(" in found, name


def test_every_setting_is_on_the_operating_page() -> None:
    for name in Settings.model_fields:
        assert f"`MEMORY_LEDGER_{name.upper()}`" in page("operating.md"), name


@pytest.mark.parametrize(("settings", "name"), [(ServiceSettings, "service.md"), (WorkerSettings, "worker.md")])
def test_every_setting_of_the_service_and_of_workers_is_on_its_page(settings: type[BaseSettings], name: str) -> None:
    for field, info in settings.model_fields.items():
        assert f"`{info.validation_alias or field.upper()}`" in page(name), field


def test_every_page_is_in_the_index() -> None:
    """Also a newcomer who begins at the README finds the index."""
    linked = {name.partition("#")[0] for name in re.findall(r"\]\(([^)]+)\)", page("README.md"))}
    pages = {str(path.relative_to(ROOT / "docs")) for path in (ROOT / "docs").rglob("*.md")} - {"README.md"}
    assert pages <= linked
    assert "(docs/README.md)" in (ROOT / "README.md").read_text()
