"""Check a release without the network, and make its files: ``make release-check``, for a tag with ``TAG=v0.1.0``.

The packages are built from the tracked files of the working tree, twice, and installed beside nothing but what they
declare. ``dist/packages/`` has the wheel and the source distribution then, ``dist/sbom.cdx.json`` what they depend on.
"""

import argparse
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import tarfile
import tempfile
import zipfile
from collections.abc import Iterable, Sequence
from importlib.metadata import Distribution, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ledger

ROOT = Path(__file__).parents[1]
NAME = "memory-ledger"
#: Folders of the source distribution.
SOURCES = {"ledger", "projections", "migrations", "examples"}
#: What an installed program reads, and what that is called in the wheel: ``pyproject.toml`` says the same.
IN_WHEEL = {
    "ledger": "ledger",
    "projections": "projections",
    "migrations/versions": "ledger/_migrations/versions",
    "migrations/sql": "ledger/_migrations/sql",
    "migrations/env.py": "ledger/_migrations/env.py",
    "migrations/catalogue.jsonl": "ledger/_migrations/catalogue.jsonl",
    "examples/configs": "ledger/_examples/configs",
    "examples/coding_agent.jsonl": "ledger/_examples/coding_agent.jsonl",
}
#: What must be there, whatever else moves or is renamed.
REQUIRED = {
    "ledger/py.typed",
    "ledger/server/ui/viewer.js",
    "ledger/server/ui/viewer.css",
    "ledger/_migrations/catalogue.jsonl",
}
SDIST_ALONE = {"PKG-INFO", "pyproject.toml", "README.md", "CHANGELOG.md", "LICENSE", ".gitignore"}


class NotReady(Exception):
    """The release must not be made; the message has one line for each reason."""


def main(arguments: Sequence[str]) -> None:
    """Check everything and print what was done.

    Raises:
        NotReady: there is a reason against the release.
    """
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tools", type=Path, required=True, help="the folder of twine and cyclonedx-py")
    parser.add_argument("--tag", help="the tag of the release, such as v0.1.0")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    options = parser.parse_args(arguments)
    version = ledger.__version__
    tracked = tracked_files()
    if options.tag and _run("git", "status", "--porcelain", cwd=ROOT):
        raise NotReady("the tree has changes that are not committed; a release is what its tag names")
    stop_at(version_faults(version, (ROOT / "CHANGELOG.md").read_text(), options.tag))
    packages = options.out / "packages"
    shutil.rmtree(options.out, ignore_errors=True)
    packages.mkdir(parents=True)
    with tempfile.TemporaryDirectory(prefix="release-") as made:
        folder = Path(made)
        folder.chmod(0o755)  # started by root, the embedded server runs its programs as another user
        wheel, sdist = build_twice(tracked, folder, packages)
        print(f"built {wheel.name} and {sdist.name}, twice and from its own source, byte for byte the same")
        stop_at(wheel_faults(zipfile.ZipFile(wheel).namelist(), tracked, version))
        stop_at(sdist_faults(members(sdist), tracked, version))
        _run(options.tools / "twine", "check", "--strict", wheel, sdist)
        print("their contents are the tracked files, and twine accepts their metadata")
        python = install_alone(wheel, folder / "installed")
        stop_at(command_faults(python.with_name(NAME), folder, version))
        print("installed beside nothing but its dependencies, the command works")
        sbom = options.out / "sbom.cdx.json"
        write_sbom(options.tools, python, sbom, version)
        print(f"{sbom.name} lists {len(json.loads(sbom.read_text())['components'])} dependencies")


def stop_at(faults: Iterable[str]) -> None:
    """Raise if there is any fault.

    Raises:
        NotReady: there is one, or several.
    """
    found = list(faults)
    if found:
        raise NotReady("\n".join(found))


def version_faults(version: str, changelog: str, tag: str | None) -> list[str]:
    """Return what contradicts *version*: the newest section of the changelog, and the tag if one is given."""
    newest, day = (re.findall(r"^## \[(.+?)\](?: - (\S+))?$", changelog, re.MULTILINE) or [("", "")])[0]
    faults = []
    if newest not in {"Unreleased", version}:
        faults.append(
            f"CHANGELOG.md begins with [{newest}]; it must be [Unreleased], or [{version}] as in ledger.__version__"
        )
    if tag and tag != f"v{version}":
        faults.append(f"the tag is {tag}, ledger.__version__ is {version}; tag v{version}, or change the version")
    if tag and (newest != version or not re.fullmatch(r"\d{4}-\d{2}-\d{2}", day)):
        faults.append(f"CHANGELOG.md has no section `## [{version}] - YYYY-MM-DD` at its top; rename [Unreleased]")
    return faults


def wheel_faults(names: Iterable[str], tracked: Iterable[str], version: str) -> list[str]:
    """Return what a wheel has too much, and what it lacks, compared with the tracked files."""
    metadata = f"memory_ledger-{version}.dist-info/"
    own = {f"{metadata}{name}" for name in ("METADATA", "WHEEL", "RECORD", "entry_points.txt", "licenses/LICENSE")}
    expected = own | {
        shipped + name.removeprefix(source)
        for name in tracked
        for source, shipped in IN_WHEEL.items()
        if f"{name}/".startswith(f"{source}/")
    }
    return _differences("the wheel", set(names), expected | REQUIRED)


def sdist_faults(names: Iterable[str], tracked: Iterable[str], version: str) -> list[str]:
    """Return what a source distribution has too much, and what it lacks, compared with the tracked files."""
    expected = SDIST_ALONE | {name for name in tracked if "/" in name and name.partition("/")[0] in SOURCES}
    return _differences("the sdist", set(names), {f"memory_ledger-{version}/{name}" for name in expected})


def _differences(what: str, found: set[str], expected: set[str]) -> list[str]:
    return [
        *(f"{what} has {name}, which is no tracked file of the product" for name in sorted(found - expected)),
        *(f"{what} lacks {name}" for name in sorted(expected - found)),
    ]


def tracked_files() -> list[str]:
    """Return the paths of the files that git knows and that exist, relative to the repository."""
    listed = _run("git", "ls-files", "-z", cwd=ROOT).split("\0")
    return [name for name in listed if name and (ROOT / name).exists()]


def build_twice(tracked: Iterable[str], folder: Path, packages: Path) -> tuple[Path, Path]:
    """Build in two copies that differ in place, dates and rights, and once from the source distribution.

    Returns the wheel and the source distribution in *packages*.

    Raises:
        NotReady: what was built differs.
    """
    copies = [folder / "first", folder / "a second place"]
    for copy in copies:
        for name in tracked:
            (copy / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(ROOT / name, copy / name)
            mode = stat.S_IMODE((ROOT / name).stat().st_mode)
            (copy / name).chmod(mode if copy is copies[0] else mode & 0o700)
    _build(copies[0], packages)
    _build(copies[1], folder / "again")
    (sdist,), (wheel,) = packages.glob("*.tar.gz"), packages.glob("*.whl")
    with tarfile.open(sdist) as archive:
        archive.extractall(folder / "unpacked", filter="data")
    _build(folder / "unpacked" / sdist.name.removesuffix(".tar.gz"), folder / "from source")
    stop_at(unequal(packages, folder / "again"))
    stop_at(unequal(packages, folder / "from source"))
    return wheel, sdist


def _build(source: Path, target: Path) -> None:
    _run(sys.executable, "-m", "hatchling", "build", "-d", target, cwd=source)


def unequal(one: Path, other: Path) -> list[str]:
    """Return what is not in both folders with the same bytes."""
    names = sorted({path.name for folder in (one, other) for path in folder.iterdir()})
    return [
        f"{name} is not the same when it is built again"
        for name in names
        if not ((one / name).exists() and (other / name).exists())
        or (one / name).read_bytes() != (other / name).read_bytes()
    ]


def members(sdist: Path) -> list[str]:
    """Return the files of a source distribution."""
    with tarfile.open(sdist) as archive:
        return [member.name for member in archive if member.isfile()]


def install_alone(wheel: Path, folder: Path) -> Path:
    """Install *wheel* into a new environment and return its Python.

    Its dependencies are linked from the environment that runs this, and nothing else is there: an import that the
    package does not declare fails.
    """
    _run(sys.executable, "-m", "venv", "--without-pip", folder)
    python = folder / "bin" / "python"
    (packages,) = folder.glob("lib/python*/site-packages")
    for found in dependencies(NAME):
        for top in {file.parts[0] for file in found.files or () if file.parts[0] not in {"..", "__pycache__"}}:
            link = packages / top
            if not link.exists():
                link.symlink_to(Path(str(found.locate_file(top))).resolve())
    install = (Path(sys.executable).with_name("uv"), "pip", "install", "--offline", "--no-index", "--no-deps")
    _run(*install, "--python", python, wheel)
    return python


def dependencies(name: str) -> list[Distribution]:
    """Return the installed distributions that *name* needs without extras, directly or not."""
    found: dict[str, Distribution] = {}
    wanted = [(name, frozenset[str]())]
    done = set(wanted)
    while wanted:
        one, extras = wanted.pop()
        found[canonicalize_name(one)] = distribution(one)
        for requirement in map(Requirement, distribution(one).requires or ()):
            marker = requirement.marker
            if marker is None or any(marker.evaluate({"extra": extra}) for extra in extras | {""}):
                needed = (requirement.name, frozenset(requirement.extras))
                if needed not in done:
                    done.add(needed)
                    wanted.append(needed)
    del found[canonicalize_name(name)]
    return list(found.values())


def command_faults(command: Path, folder: Path, version: str) -> list[str]:
    """Return what the installed *command* does not do: print *version* and the help, and run the demo."""
    printed = _run(command, "--version", cwd=folder).strip()
    faults = [] if printed == version else [f"`{NAME} --version` prints {printed}, ledger.__version__ is {version}"]
    if "Usage:" not in _run(command, "--help", cwd=folder):
        faults.append(f"`{NAME} --help` prints no usage")
    _run(command, "demo", cwd=folder)
    return faults


def write_sbom(tools: Path, python: Path, target: Path, version: str) -> None:
    """Write the CycloneDX list of what the environment of *python* has, as that of *version*.

    Raises:
        NotReady: the list lacks a dependency.
    """
    _run(
        tools / "cyclonedx-py",
        "environment",
        "--pyproject",
        ROOT / "pyproject.toml",
        "--output-reproducible",
        "--output-file",
        target,
        python,
    )
    listing = json.loads(target.read_text())
    listing["metadata"]["component"]["version"] = version  # pyproject.toml has it from the code, so the tool has none
    target.write_text(json.dumps(listing, indent=2, sort_keys=True) + "\n")
    listed = {canonicalize_name(component["name"]) for component in listing["components"]}
    needed = {canonicalize_name(found.name) for found in dependencies(NAME)}
    stop_at(f"the SBOM lacks {name}" for name in sorted(needed - listed))


def _run(*command: str | Path, cwd: Path | None = None) -> str:
    environment = {
        name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "MEMORY_LEDGER"))
    }
    done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, timeout=300, check=False)
    if done.returncode:
        raise NotReady(f"{' '.join(map(str, command))} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except NotReady as error:
        sys.exit(str(error))
