"""What the site adds to the pages: links that leave docs/, nothing from the network, operations shown as methods."""

from pathlib import Path
from types import SimpleNamespace

import pytest

griffe = pytest.importorskip("griffe")
pytest.importorskip("mkdocs")

from tests.support.pages import ROOT  # noqa: E402 - only where the site can be built
from tools import api_docstrings, site_hooks  # noqa: E402


def shown(markdown: str, page: str) -> str:
    """Return the text of *page*, by its place in the site, as the site has it."""
    return site_hooks.on_page_markdown(markdown, page=SimpleNamespace(file=SimpleNamespace(src_uri=page)))


@pytest.mark.parametrize(
    ("page", "link", "expected"),
    [
        ("concepts.md", "events.md#values", "events.md#values"),
        ("concepts.md", "../SECURITY.md", "project/SECURITY.md"),
        ("guides/agent.md", "../../examples/typescript_port.py", "../project/examples/typescript_port.py"),
        ("project/CONTRIBUTING.md", "docs/decisions/README.md", "../decisions/README.md"),
        ("project/CONTRIBUTING.md", "CHANGELOG.md#added", "CHANGELOG.md#added"),
        ("concepts.md", "https://example.org/a", "https://example.org/a"),
        ("concepts.md", "#forks", "#forks"),
    ],
)
def test_a_link_leads_to_the_same_file_in_the_site(page: str, link: str, expected: str) -> None:
    assert shown(f"See [this]({link}).", page) == f"See [this]({expected})."


def test_the_mark_of_blocks_that_do_not_run_is_not_shown() -> None:
    assert shown("```sh norun\nmake test\n```", "concepts.md") == "```sh\nmake test\n```"


def test_a_bar_in_the_code_of_a_table_is_shown_as_it_is() -> None:
    assert shown(r"| `str \| None` | a \| b |", "events.md") == r"| `str | None` | a \| b |"
    assert shown(r"`a \| b`", "events.md") == r"`a \| b`"


def test_what_a_page_loads_from_the_network_is_found() -> None:
    assert site_hooks.foreign('<script src="https://cdn.example/a.js">') == ["https://cdn.example/a.js"]
    assert site_hooks.foreign('<link rel="stylesheet" href="//fonts.example/a.css">') == ["//fonts.example/a.css"]
    assert site_hooks.foreign('<a href="https://example.org">there</a><img src="figures/full.png">') == []


def test_every_page_is_in_the_navigation_or_said_not_to_be() -> None:
    """The build fails on a page that is missing; here the control, that it is told to."""
    settings = (ROOT / "mkdocs.yml").read_text()
    assert "strict: true" in settings
    assert "omitted_files: warn" in settings
    assert "anchors: warn" in settings


def test_a_bound_function_is_shown_as_a_method(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "toy"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "entries.py").write_text(
        "def add(handle, session: str, *, count: int = 1) -> list[str]:\n"
        '    """Add (trust H-6).\n\n    Source: http W-1.\n    """\n'
    )
    (package / "memory.py").write_text(
        "from toy import entries\n\nclass Bound:\n    __wrapped__ = entries.add\n\nclass Facade:\n"
        '    add = Bound()\n    """Add."""\n    other = 3\n    """Not bound."""\n'
    )
    monkeypatch.syspath_prepend(tmp_path)
    extensions = griffe.load_extensions(api_docstrings.ApiDocstrings())
    module = griffe.load("toy", search_paths=[tmp_path], extensions=extensions)
    import toy.memory  # type: ignore[import-not-found]  # noqa: PLC0415 - made above

    facade = module["memory.Facade"]
    assert facade["add"].is_attribute
    api_docstrings.bind(module, facade, toy.memory.Facade)
    assert facade["add"].is_function
    assert [parameter.name for parameter in facade["add"].parameters] == ["session", "count"]
    assert str(facade["add"].returns) == "list[str]"
    assert facade["add"].docstring.value == "Add."
    assert facade["other"].is_attribute
