"""Limits that several parts share, each defined once; a test compares those that SQL repeats."""

from typing import Final

#: In one append; a PUT of working memory may replace 10,000 messages, with one or two events each.
EVENTS_PER_APPEND: Final = 32_000
#: Of one event's stored payload.
PAYLOAD_BYTES: Final = 8 * 1024 * 1024
#: Of one text, in UTF-8.
CONTENT_BYTES: Final = 1024 * 1024
#: Of one metadata object, as canonical JSON.
METADATA_BYTES: Final = 16 * 1024
#: Of a name, in UTF-8.
NAME_BYTES: Final = 512
#: Of the large values that one write puts beside its entries, such as images.
BESIDE_BYTES: Final = 80 * 1024 * 1024
