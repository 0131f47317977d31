"""The release of this package, which answers and files name."""

from typing import Final

RELEASE: Final = "0.1.0"
