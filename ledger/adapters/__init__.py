"""Memory Ledger under the interfaces of other SDKs; each adapter needs the extra of its name."""
