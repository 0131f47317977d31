"""A process that writes to an embedded ledger until its standard input ends; the tests kill the server meanwhile.

Arguments: data directory, name of its session. It prints ``id`` of each message once it is acknowledged, and ``! text``
for each error; a message whose write failed is sent again under the same idempotency key.
"""

import logging
import sys
import threading

from ledger import SyncMemoryLedger
from ledger.errors import DatabaseUnavailable


def work(data_dir: str, name: str) -> None:
    """Write one message after the other."""
    asked = threading.Event()
    threading.Thread(target=lambda: (sys.stdin.read(), asked.set()), daemon=True).start()
    with SyncMemoryLedger.open(data_dir=data_dir) as ledger:
        number = 0
        while not asked.wait(0.01):
            text = f"{name}-{number}"
            try:
                ledger.add_user_message(name, text, idempotency_key=text)
            except DatabaseUnavailable as fault:
                print("!", fault, flush=True)
                continue
            print(text, flush=True)
            number += 1


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING)
    work(*sys.argv[1:])
