"""The working-memory API, wire-compatible: its published client runs against it unchanged. Source: http §2."""

from fastapi import APIRouter

from ledger.server.compat import later, long_term_memory, prompts, working_memory

router = APIRouter()
router.include_router(working_memory.router)
router.include_router(prompts.router)
router.include_router(long_term_memory.router)
router.include_router(later.router)

__all__ = ["router"]
