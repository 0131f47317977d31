"""Long-term memory: records that outlive a session and can be found, changed, forgotten and restored.

    await memory.create([{"id": "r1", "text": "Mia lives in Oslo", "user_id": "mia"}])
    page = await memory.search({"text": "where does Mia live?", "user_id": {"eq": "mia"}})

The changes of a record are events on a stream of its user; reads and searches use a projection of them. A deletion
loses nothing: `LongTermMemory.restore` undoes it. Source: http W-26 … W-35, W-46, W-71.
"""

from ledger.indexes.record_index import RecordIndex, RecordIndexes
from ledger.long_term_memory.forget_policy import ForgetPolicy
from ledger.long_term_memory.past_records import PastRecords, RecordPast
from ledger.long_term_memory.record_decisions import Promotion
from ledger.long_term_memory.record_results import ForgetResult, FoundRecord, LongTermRecord, RecordPage, Revision
from ledger.long_term_memory.record_writer import records_stream
from ledger.long_term_memory.search_queries import RecordSearch, record_search

__all__ = [
    "ForgetPolicy",
    "ForgetResult",
    "FoundRecord",
    "LongTermMemory",
    "LongTermRecord",
    "PastRecords",
    "Promotion",
    "RecordIndex",
    "RecordIndexes",
    "RecordPage",
    "RecordSearch",
    "Revision",
    "record_search",
    "records_stream",
]


class LongTermMemory(RecordPast):
    """The records of all users in some namespaces; `over` returns one for other namespaces."""
