"""The working-memory API, compatible on the wire: its published client works unchanged. Source: http §2."""

from ledger.server.compat import long_term_memory_routes, prompt_routes, summary_view_routes, working_memory_routes
from ledger.server.http.route_kinds import together

router = together(
    working_memory_routes.router,
    prompt_routes.router,
    long_term_memory_routes.router,
    summary_view_routes.router,
)

redirects = working_memory_routes.redirects

__all__ = ["redirects", "router"]
