"""Where the examples are: transcripts, and a memory config for each strategy."""

from pathlib import Path


def examples_folder() -> Path:
    """Return the folder of examples: inside the installed package, else in the checkout."""
    packaged = Path(__file__).parents[1] / "_examples"
    return packaged if packaged.exists() else Path(__file__).parents[2] / "examples"
