"""What the files in .github, .devcontainer and .pre-commit-config.yaml claim, compared with what there is.

Each function takes texts and returns the faults it finds, so that a broken variant is a text, too.
"""

import json
import re
import shlex
import subprocess
import tomllib
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import yaml
from packaging.requirements import Requirement

from tests.support.pages import ROOT

_PINNED = re.compile(r"[\w.-]+(?:/[\w.-]+)+@[0-9a-f]{40} # v\d+\.\d+\.\d+")
#: What a job may write, beside reading the code: the identity of a release, and the branch of new locks.
_WRITES = {
    "release.yml": {"id-token", "attestations"},
    "locks.yml": {"contents", "pull-requests"},
}


def read(name: str) -> str:
    """Return the text of a file, by its place in the repository."""
    return (ROOT / name).read_text()


def parsed(text: str) -> dict[str, Any]:
    """Return YAML with all scalars as they are written: ``on`` is a key, ``3.10`` is not 3.1."""
    loaded: dict[str, Any] = yaml.load(text, yaml.BaseLoader)
    return loaded


def pin_faults(text: str) -> list[str]:
    """Return the actions that are not pinned to a commit, with the version beside it."""
    used = re.findall(r"^\s*-?\s*uses:\s*(.+)$", text, re.MULTILINE)
    return [f"{one}: not a commit with its version" for one in used if not _PINNED.fullmatch(one)]


def right_faults(name: str, text: str) -> list[str]:
    """Return what a workflow may do that it need not, and what may run without an end."""
    workflow = parsed(text)
    faults = [] if workflow.get("permissions") == {} else [f"{name}: `permissions` must begin with none"]
    if "concurrency" not in workflow:
        faults.append(f"{name}: no `concurrency`")
    if "secrets." in text or "pull_request_target" in text:
        faults.append(f"{name}: uses a secret, or runs what strangers send with the rights of the project")
    for title, job in workflow["jobs"].items():
        if "timeout-minutes" not in job:
            faults.append(f"{name}: {title} has no `timeout-minutes`")
        rights = job.get("permissions") or {}
        faults += [
            f"{name}: {title} may write {right}"
            for right, value in rights.items()
            if value != "read" and right not in _WRITES.get(name, ())
        ]
    return faults


def commands(text: str) -> Iterator[str]:
    """Yield each line that a workflow runs, once for each cell of its matrix."""
    for job in parsed(text)["jobs"].values():
        matrix = job.get("strategy", {}).get("matrix", {})
        for cell in product(*matrix.values()):
            values = {f"matrix.{axis}": value for axis, value in zip(matrix, cell, strict=True)}
            for step in job["steps"]:
                for line in step.get("run", "").splitlines():
                    yield _filled(_with_variables(line, step.get("env", {})), values)


def _with_variables(line: str, env: dict[str, str]) -> str:
    for name, value in env.items():
        line = re.sub(rf"\${name}\b", lambda _, value=value: value, line)  # type: ignore[misc]
    return line


def _filled(line: str, values: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ (\S+) \}\}", lambda found: values.get(found[1], found[0]), line)


def command_faults(text: str) -> list[str]:
    """Return the commands of a workflow that call a target or a script which does not exist."""
    faults = []
    for line in sorted(set(commands(text))):
        words = shlex.split(line, comments=True)
        if words[:1] == ["make"]:
            faults += target_faults(words[1:])
        elif words and words[0].startswith(".") and not (ROOT / words[0]).is_file():
            faults.append(f"there is no {words[0]}")
    return faults


def target_faults(targets: list[str]) -> list[str]:
    """Return the targets that the Makefile does not have; for a folder of that name, make finds nothing to be done."""
    faults = []
    for target in targets:
        done = subprocess.run(["make", "-n", target], cwd=ROOT, capture_output=True, text=True, check=False)
        if done.returncode or "Nothing to be done" in done.stdout:
            faults.append(f"make has no target {target}")
    return faults


def project() -> dict[str, Any]:
    """Return pyproject.toml."""
    return tomllib.loads(read("pyproject.toml"))


def python_versions() -> list[str]:
    """Return the versions of Python that the classifiers claim, oldest first."""
    return [
        version
        for each in project()["project"]["classifiers"]
        for version in re.findall(r"^Programming Language :: Python :: (3\.\d+)$", each)
    ]


def postgres_versions() -> list[str]:
    """Return the versions of PostgreSQL that the operating page claims, oldest first."""
    ((first, last),) = re.findall(r"^\| PostgreSQL (\d+) to (\d+) \|", read("docs/operating.md"), re.MULTILINE)
    return [str(version) for version in range(int(first), int(last) + 1)]


def matrix_faults(text: str) -> list[str]:
    """Return where the matrix of CI is not what the project claims to support."""
    matrices = [job["strategy"]["matrix"] for job in parsed(text)["jobs"].values() if "strategy" in job]
    found = {axis: values for matrix in matrices for axis, values in matrix.items()}
    systems = {"Operating System :: POSIX :: Linux": "ubuntu", "Operating System :: MacOS": "macos"}
    expected = {
        "python": python_versions(),
        "postgres": postgres_versions(),
        "os": sorted(systems[each] for each in project()["project"]["classifiers"] if each in systems),
    }
    found["os"] = sorted(one.partition("-")[0] for one in found.get("os", []))
    return [
        f"CI has {axis} {found.get(axis)}, the project claims {values}"
        for axis, values in expected.items()
        if found.get(axis) != values
    ]


def hook_faults(text: str) -> list[str]:
    """Return where the hooks do not run what ``make check`` runs, or run another version than that of the lock."""
    faults, found = [], []
    for source in parsed(text)["repos"]:
        if source["repo"] != "local":
            faults.append(f"{source['repo']} has a list of versions of its own")
            continue
        found += [hook["entry"].replace(" --force-exclude", "") for hook in source["hooks"]]
    done = subprocess.run(["make", "-n", "check"], cwd=ROOT, capture_output=True, text=True, check=True)
    checked = [
        line.replace(" --check .", "").removesuffix(" .")
        for line in done.stdout.splitlines()
        if line.startswith(".venv/bin/")
    ]
    faults += [f"no hook runs {command}" for command in checked if command not in found]
    return faults + [f"make check does not run {command}" for command in found if command not in checked]


def update_faults(text: str) -> list[str]:
    """Return the entries of dependabot.yml that find no file, and the kinds of files that have none."""
    files = {
        "npm": "package-lock.json",
        "docker": "Dockerfile",
        "docker-compose": "docker-compose.yml",
        "github-actions": ".github/workflows/ci.yml",
    }
    entries = parsed(text)["updates"]
    faults = [f"no entry for {kind}" for kind in files if kind not in {each["package-ecosystem"] for each in entries}]
    for entry in entries:
        kind, folder = entry["package-ecosystem"], entry["directory"].strip("/")
        if not (ROOT / folder / files[kind]).exists():
            faults.append(f"{kind}: nothing to update in /{folder}")
        if "groups" not in entry:
            faults.append(f"{kind}: not grouped")
    return faults


def form_faults(text: str, commands: set[str]) -> list[str]:
    """Return what a form asks for that the command line does not have."""
    named = re.findall(r"`memory-ledger (\S+?)`", text)
    return [f"there is no `memory-ledger {name}`" for name in named if name not in commands]


def container_faults(text: str) -> list[str]:
    """Return why ``make demo`` would not work in the development container: its Python, and what it runs first."""
    described = json.loads(text)
    version = re.search(r"python:(?:\d+-)?(3\.\d+)", described["image"])
    faults = (
        [] if version and version[1] in python_versions() else [f"{described['image']} has no Python of the project"]
    )
    words = shlex.split(described["postCreateCommand"])
    return faults + (target_faults(words[1:]) if words[0] == "make" else [f"{words[0]} is not make"])


def badge_faults(readme: str) -> list[str]:
    """Return what the line under the title of the README claims that is not so."""
    line = readme.split("\n\n")[1].replace("\n", " ")
    metadata = project()["project"]
    pythons, servers = python_versions(), postgres_versions()
    systems = [
        name for name, word in (("Linux", "Linux"), ("macOS", "MacOS")) if word in " ".join(metadata["classifiers"])
    ]
    claims = [f"Python {pythons[0]} to {pythons[-1]}", f"PostgreSQL {servers[0]} to {servers[-1]}", ", ".join(systems)]
    if "Typing :: Typed" in metadata["classifiers"] and Path(ROOT, "ledger/py.typed").exists():
        claims.append("typed")
    claims.append(metadata["license"])
    if not re.search(r"^## \[\d.*\] - \d{4}-", read("CHANGELOG.md"), re.MULTILINE):
        claims.append("not released yet")
    shown = re.findall(r"`([^`]+)`", line)
    faults = [f"the README claims {one}" for one in shown if one not in claims]
    faults += [f"the README does not say {one}" for one in claims if one not in shown]
    return faults + ["a badge is fetched from the network" for _ in re.findall(r"!\[|https?:", line)]


def tools_of_hooks() -> set[str]:
    """Return the distributions of the development group, which the lock pins."""
    return {Requirement(one).name for one in project()["dependency-groups"]["dev"] if isinstance(one, str)}
