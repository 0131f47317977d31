"""The command, loaded once and forked for each call: starting Python anew is most of what a short command takes.

A second command beside it runs a Python file in such a child.
"""

import array
import gc
import json
import os
import runpy
import select
import signal
import socket
import stat
import subprocess
import sys
import threading
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path

from ledger.cli.command_table import modules

#: The command that runs a file.
SCRIPT = "python-script"

_CLIENT = """\
#!{python} -IS
import array, json, os, socket, sys
with socket.socket(socket.AF_UNIX) as server:
    server.connect({path!r})
    server.sendmsg([b"."], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [0, 1, 2]))])
    server.sendall(json.dumps([{name!r}, sys.argv[1:], os.getcwd(), dict(os.environ)]).encode())
    server.shutdown(socket.SHUT_WR)
    os._exit(int(server.recv(16) or b"70"))
"""


@contextmanager
def forked_command(folder: Path) -> Iterator[Path]:
    """Start the server, and yield a folder with a ``memory-ledger`` that calls it."""
    path, commands = folder / "socket", folder / "bin"
    commands.mkdir()
    for name in ("memory-ledger", SCRIPT):
        command = commands / name
        command.write_text(_CLIENT.format(python=sys.executable, path=str(path), name=name))
        command.chmod(command.stat().st_mode | stat.S_IXUSR)
    with subprocess.Popen(
        # not by -m, which a command would give as its own name
        [sys.executable, "-c", f"from tests.support.forked_command import serve; serve({str(path)!r})"],
        cwd=Path(__file__).parents[2],
        stdout=subprocess.PIPE,
    ) as server:
        try:
            assert server.stdout is not None
            assert server.stdout.readline() == b"ready\n"
            yield commands
        finally:
            server.terminate()


def serve(path: str) -> None:
    """Run each command that is asked for in a child of this process."""
    for module in set(modules().values()):
        import_module(f"ledger.cli.{module}")
    gc.freeze()  # so that collecting garbage copies no page of this process in its children
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        print("ready", flush=True)
        while True:
            asked, _ = listening.accept()
            with asked:
                if os.fork() == 0:
                    listening.close()
                    _run(asked)


def _run(asked: socket.socket) -> None:
    from ledger.cli import main  # noqa: PLC0415

    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _, passed, *_ = asked.recvmsg(1, socket.CMSG_SPACE(3 * array.array("i").itemsize))
    descriptors = array.array("i", passed[0][2])
    request = b"".join(iter(lambda: asked.recv(1 << 16), b""))
    name, arguments, folder, environment = json.loads(request)
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
    os.chdir(folder)
    os.environ.clear()
    os.environ.update(environment)
    sys.argv = [name, *arguments] if name != SCRIPT else arguments
    threading.Thread(target=_end_with, args=(asked,), daemon=True).start()
    code = 0
    try:
        if name == SCRIPT:
            runpy.run_path(arguments[0], run_name="__main__")
        else:
            main()
    except SystemExit as ended:
        code = ended.code if isinstance(ended.code, int) else int(ended.code is not None)
    except BaseException:  # noqa: BLE001 - as the interpreter ends with it
        traceback.print_exc()
        code = 1
    sys.stdout.flush()
    sys.stderr.flush()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)  # whoever asked may go now
    asked.sendall(str(code).encode())
    os._exit(0)


def _end_with(asked: socket.socket) -> None:
    """Terminate this command if its caller was terminated."""
    poll = select.poll()
    poll.register(asked, 0)  # which still tells of a peer that is gone
    poll.poll()
    os.kill(os.getpid(), signal.SIGTERM)
