"""The memory config of a session: its shapes, what is checked, and the budget of its window."""
