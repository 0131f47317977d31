"""Summary views: stored definitions whose partitions are summaries of long-term memory, grouped by fields.

Definitions, runs and results are events on one stream of the namespace (`projections.records.summary_views` folds
them); this package says what a definition may contain, which records are in a partition, and what a model is asked
about them.
Source: http §2.4.
"""

from ledger.long_term_memory.summary_views.definitions import check_definition, conditions_of
from ledger.long_term_memory.summary_views.partitions import Members, TooManyPartitions, find_partitions
from ledger.long_term_memory.summary_views.requests import partition_request, text_without_model

__all__ = [
    "Members",
    "TooManyPartitions",
    "check_definition",
    "conditions_of",
    "find_partitions",
    "partition_request",
    "text_without_model",
]
