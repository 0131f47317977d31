"""Background work as a projection of the log: the jobs of each session, and when they are due.

    log ──── advance ────▶ jobs ──── claimed by a worker ────▶ events, in one append ──── advance ────▶ no job

A row only says that a session has work. The worker reads from the log what the work is, and appends at the version
that it has read. So a row may be lost or claimed twice, and still nothing is done twice.
"""

from ledger.indexes.jobs.due import WorkPlan, due_jobs
from ledger.indexes.jobs.job_index import BACKLOGS, JobIndex

__all__ = ["BACKLOGS", "JobIndex", "WorkPlan", "due_jobs"]
