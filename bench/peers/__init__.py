"""Memory Ledger beside other stores of agent memory; `make bench-peers` installs these and runs them."""
