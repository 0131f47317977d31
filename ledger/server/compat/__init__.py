"""The working-memory API, compatible on the wire: its published client works unchanged. Source: http §2."""

from ledger.server.compat import long_term_memory, prompts, summary_views, working_memory
from ledger.server.routes import together

router = together(working_memory.router, prompts.router, long_term_memory.router, summary_views.router)

__all__ = ["router"]
