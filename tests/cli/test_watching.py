"""Folders of transcripts that are still written to."""

import shutil
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from ledger.cli.transcript_folder import FolderImport
from ledger.errors import InvalidInput
from ledger.formats.export.importing import Imported
from tests.cli.conftest import SECOND, Cli
from tests.support.importer_samples import SAMPLES


def lines_of(watching: subprocess.Popen[str]) -> Iterator[str]:
    """Return the lines that a process prints once it watches."""
    assert watching.stdout is not None
    before = []
    while not (line := watching.stdout.readline()).startswith("watching"):
        before.append(line)
        assert line, f"it ended: {before}"
    return iter(watching.stdout.readline, "")


@pytest.mark.full
def test_watching_takes_in_what_is_written_and_ends_with_control_c(cli: Cli, projects: Path) -> None:
    growing = projects / "-home-mara-shed" / f"{SECOND}.jsonl"
    lines = growing.read_text().splitlines(keepends=True)
    growing.write_text("".join(lines[:2]))
    with cli.process("import", str(growing.parent), "--watch") as watching:
        assert watching.stdout is not None
        assert watching.stdout.readline() == "2 files read\n"
        told = lines_of(watching)
        with growing.open("a") as file:
            file.write("".join(lines[2:]))
        assert next(told) == f"4 entries more: {SECOND}  {SECOND}~1\n"
        assert next(told).startswith(f"{SECOND}, line 5: this prompt follows an earlier line; ")
        with growing.open("a") as file:
            file.write('{"type": "mode", "mode": "plan"}\n')
        assert next(told) == f"1 entry more: {SECOND}  {SECOND}~1\n", "a note is told once"
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=30)
    assert (watching.returncode, err) == (0, "")
    assert out.strip().startswith("stopped; ")
    shown = cli.json("context", SECOND)["messages"]
    assert [message["content"] for message in shown][2:] == ["Leeks instead.", "Leeks are planted."]


@pytest.mark.full
def test_watching_names_a_file_that_it_cannot_take_in_once_and_again_at_the_end(cli: Cli, projects: Path) -> None:
    with cli.process("import", str(projects), "--watch") as watching:
        told = lines_of(watching)
        chat = projects / "-home-mara-shed" / "chat.json"
        chat.write_text('[{"role": "user", "content": "Another chat."}]')
        other = next(told)
        assert other.startswith(f"not imported: {chat}: session 'home-mara-shed:chat' already holds other events; cho")
        bad = projects / "-home-mara-shed" / "bad.jsonl"
        bad.write_text('{"type": "user", broken\n')
        broken = next(told)
        assert broken.startswith(f"not imported: {bad}: line 1: is not valid JSON")
        watching.send_signal(signal.SIGINT)
        out, err = watching.communicate(timeout=30)
    assert (watching.returncode, err) == (1, "")
    assert out.startswith("\nstopped; ")
    assert out.splitlines(keepends=True)[2:] == [other, broken]


async def test_the_end_tells_what_an_interrupted_look_took_in_and_what_failed_before(projects: Path) -> None:
    """Ctrl-C comes while a file that could not be taken in is tried again."""
    shed = projects / "-home-mara-shed"
    bad, fault = shed / f"{SECOND}.jsonl", InvalidInput("odd", "is odd")
    faults: list[BaseException] = [fault, KeyboardInterrupt()]

    async def read(path: str, name: str) -> Imported:
        if path == str(bad):
            raise faults.pop(0)
        return Imported(sessions=1, entries=2, skipped=0, session_ids=(name,))

    folders = FolderImport([str(shed)], read)
    await folders.once(lambda done, total: None)
    assert (folders.totals()[0]["entries"], folders.failed) == (2, {str(bad): fault})
    shutil.copy(SAMPLES / "openai_list.json", shed / "00.json")
    bad.touch()
    with pytest.raises(KeyboardInterrupt):
        await folders.once(lambda done, total: None)
    assert (folders.totals()[0]["entries"], folders.failed) == (4, {str(bad): fault})


async def test_a_file_that_is_tried_again_in_vain_keeps_its_place_among_the_faults(projects: Path) -> None:
    """A look may come while a file is written, so the next one tries it again."""
    shed = projects / "-home-mara-shed"
    first = shed / f"{SECOND}.jsonl"

    async def refuse(path: str, name: str) -> Imported:
        raise InvalidInput("odd", "is odd")

    folders = FolderImport([str(shed)], refuse)
    await folders.once(lambda done, total: None)
    before = [*folders.failed]
    first.touch()
    await folders.once(lambda done, total: None)
    assert before == [*folders.failed] == [str(first), str(shed / "chat.json")]


async def test_a_locked_file_is_tried_again_once_it_may_be_read(projects: Path) -> None:
    shed, tried = projects / "-home-mara-shed", list[str]()

    async def locked(path: str, name: str) -> Any:
        tried.append(name)
        raise InvalidInput("no_file", "cannot be read: Permission denied", field=path)

    folders = FolderImport([str(shed)], locked)
    for _ in range(2):
        await folders.once(lambda done, total: None)
    assert len(tried) == 2, "the control: what is as it was is not tried again"
    (shed / "chat.json").chmod(0o640)
    await folders.once(lambda done, total: None)
    assert tried[2:] == ["chat"]
