"""Hooks of the documentation site (mkdocs.yml): copy the files of the repository that pages link to.

A link out of ``docs/`` works in the repository. In the site it leads to a copy under ``project/``, so that the site is
complete.
"""

import posixpath
import re
from pathlib import Path
from typing import Any

from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files

ROOT = Path(__file__).parents[1]
FOLDER = "project"
#: Pages that the navigation names, whether or not a page links to them.
ALWAYS = ("CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md")

_LINK = re.compile(r"(\]\()(?!https?:|mailto:|#)([^)#\s]+)(#[^)]*)?(\))")
_CELLS = re.compile(r"^\|.*\|$", re.MULTILINE)
_CODE = re.compile(r"`[^`]+`")
_NO_RUN = re.compile(r"^(```\w+) norun$", re.MULTILINE)


def on_files(files: Files, *, config: Any) -> Files:
    """Add a copy of each file outside ``docs/`` that a page links to."""
    wanted, seen = {*ALWAYS}, set[str]()
    sources = {f"docs/{file.src_uri}": ROOT / "docs" / file.src_uri for file in files.documentation_pages()}
    while wanted - seen:
        for name in wanted - seen:
            seen.add(name)
            files.append(File.generated(config, f"{FOLDER}/{name}", abs_src_path=str(ROOT / name)))
        sources |= {name: ROOT / name for name in seen if name.endswith(".md")}
        wanted |= {
            target
            for source, path in sources.items()
            for target in (_resolved(source, match[2]) for match in _LINK.finditer(path.read_text()))
            if not target.startswith(("docs/", "..")) and (ROOT / target).is_file()
        }
    return files


def on_page_markdown(markdown: str, *, page: Any, **_: Any) -> str:
    """Point links at the copies, remove the mark of blocks that do not run, and unescape bars in code."""
    here = page.file.src_uri
    source = here.removeprefix(f"{FOLDER}/") if here.startswith(f"{FOLDER}/") else f"docs/{here}"

    def moved(match: re.Match[str]) -> str:
        target = _resolved(source, match[2])
        there = target.removeprefix("docs/") if target.startswith("docs/") else f"{FOLDER}/{target}"
        link = posixpath.relpath(there, posixpath.dirname(here) or ".")
        return f"{match[1]}{link}{match[3] or ''}{match[4]}"

    plain = _CELLS.sub(lambda row: _CODE.sub(lambda code: code[0].replace(r"\|", "|"), row[0]), markdown)
    return _LINK.sub(moved, _NO_RUN.sub(r"\1", plain))


def _resolved(source: str, link: str) -> str:
    return posixpath.normpath(posixpath.join(posixpath.dirname(source), link))


def on_post_build(*, config: Any) -> None:
    """Refuse a page that loads anything from the network."""
    for page in sorted(Path(config.site_dir).rglob("*.html")):
        for loaded in foreign(page.read_text()):
            raise PluginError(f"{page.name} loads {loaded}: the site must work without a network")


def foreign(html: str) -> list[str]:
    """Return the addresses from which a page loads scripts, styles, pictures or frames; links do not count."""
    return re.findall(r"<(?:script|link|img|iframe)\b[^>]*?(?:src|href)=\"?((?:https?:)?//[^\"\s>]+)", html)
