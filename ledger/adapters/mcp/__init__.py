"""Memory Ledger as a server of the Model Context Protocol: tools and resources over stdio or HTTP.

    from ledger.adapters.mcp import server

    server().run()  # over stdio

It needs the extra: ``pip install memory-ledger[mcp]``.
"""

from typing import Final

from ledger.errors import Unavailable

__all__ = ["MISSING_EXTRA", "server"]

MISSING_EXTRA: Final = "install memory-ledger[mcp] to serve the Model Context Protocol"

try:
    import mcp.server.mcpserver as _sdk
except ImportError as fault:
    raise Unavailable(MISSING_EXTRA) from fault

from ledger.adapters.mcp.stdio import server  # noqa: E402 - it needs the SDK

del _sdk
