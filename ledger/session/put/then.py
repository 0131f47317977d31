"""A list as it was at the version a marked writer saw."""

from typing import Final

import msgspec

from ledger.session.put.recognition import Says


class Then(msgspec.Struct, frozen=True):
    """The list at the version a marked writer saw: what each item said, by id, in order."""

    says: dict[str, Says]
    versions: frozenset[int]


NOTHING_THEN: Final = Then({}, frozenset())
