"""The viewer in a browser: its page, script and stylesheet, and a login that may only read."""
