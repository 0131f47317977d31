"""Extraction of memories from messages: what a model is asked, and how its answer is checked. Pure.

Source: http W-16, W-48; trust M-3, M-4.
"""

from ledger.llm.extraction.extraction_answers import ExtractedMemory, memories_in
from ledger.llm.extraction.extraction_prompts import extraction_request, longest_memory

__all__ = ["ExtractedMemory", "extraction_request", "longest_memory", "memories_in"]
