"""Background work: compactions nobody ended, memories made of messages, and their way to long-term memory.

    async with open_services(load_settings()) as services, Worker(services):
        ...                                   # it works until here

Several workers share the work. One that is killed loses nothing: what it was at is taken on by another one once its
lease is over. And nothing is done twice: what a job came to is one append, at the version of the session it was
decided on. Source: http W-45, W-48 … W-50; trust M-1 … M-4, P-14, P-15.
"""

from ledger.worker.settings import WorkerSettings, load_worker_settings
from ledger.worker.working import Worker

__all__ = ["Worker", "WorkerSettings", "load_worker_settings"]
