"""Background work: abandoned compactions, extraction of memories from messages, promotion to long-term memory.

    async with open_services(load_settings()) as services, Worker(services):
        ...                                   # it works until here

Several workers share the work. A worker that is killed loses nothing: another one takes over its job when the lease
ends. Nothing is done twice: the result of a job is one append, at the version of the session it was decided on.
Source: http W-45, W-48 … W-50; trust M-1 … M-4, P-14, P-15.
"""

from ledger.worker.worker import Worker
from ledger.worker.worker_settings import WorkerSettings, load_worker_settings

__all__ = ["Worker", "WorkerSettings", "load_worker_settings"]
