"""What becomes of a conversation that its SDK deletes: it ends, or stays. Source: adapters AD-9."""

from typing import Literal, TypeAlias

from ledger.errors import InvalidInput

OnDelete: TypeAlias = Literal["end", "refuse"]


def check_on_delete(on_delete: OnDelete) -> OnDelete:
    """Return *on_delete*.

    Raises:
        InvalidInput: it is unknown.
    """
    if on_delete not in {"end", "refuse"}:
        raise InvalidInput("bad_value", "must be end or refuse", field="on_delete")
    return on_delete


def check_deletes(on_delete: OnDelete, what: str, *, field: str) -> None:
    """Raise `InvalidInput` if the adapter, which is *what*, was opened to refuse deletions."""
    if on_delete == "refuse":
        raise InvalidInput("not_permitted", f"must stay: {what} was opened with on_delete='refuse'", field=field)
