"""Background work as a projection of the log: what each session still has to do, and when it is due.

    log ──── advance ────▶ jobs ──── claimed by a worker ────▶ events, in one append ──── advance ────▶ no job

A row says only that there is something to do; what exactly, the worker reads from the log, and it appends at the
version it has read. So a row may be lost, or taken twice, and nothing is done twice.
"""

from ledger.jobs.backlogs import Backlogs
from ledger.jobs.due import WorkPlan, due_jobs
from ledger.jobs.index import JobIndex

__all__ = ["Backlogs", "JobIndex", "WorkPlan", "due_jobs"]
