"""A server that does nothing: all its processes are stopped, and go on afterwards."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress

import psutil


@contextmanager
def frozen(postmaster: psutil.Process) -> Iterator[None]:
    """Stop *postmaster* and all that it started; let them and what they start then go on afterwards."""
    processes = [postmaster, *postmaster.children(recursive=True)]
    for process in processes:
        with suppress(psutil.NoSuchProcess):
            process.send_signal(signal.SIGSTOP)
    try:
        yield
    finally:
        for process in (*processes, *postmaster.children(recursive=True)):
            with suppress(psutil.NoSuchProcess):
                process.send_signal(signal.SIGCONT)
