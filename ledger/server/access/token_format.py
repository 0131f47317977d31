"""The format of tokens: ``mlk_<key id>_<32 random bytes>_<checksum>``, in base 62 (trust S-2).

Scanners of leaked secrets recognise a token by its checksum, which proves nothing.
"""

import re
import secrets
import zlib
from hashlib import sha256
from typing import Final

_ALPHABET: Final = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
_KEY_ID: Final = 12
_SECRET: Final = 43  # 62**43 > 2**256
_CHECKSUM: Final = 6
_FORM: Final = re.compile(rf"(mlk_([0-9A-Za-z]{{{_KEY_ID}}})_[0-9A-Za-z]{{{_SECRET}}})_([0-9A-Za-z]{{{_CHECKSUM}}})")


def new_token() -> tuple[str, str]:
    """Return the key id of a new token, and the token, which is shown only once."""
    key_id = "".join(secrets.choice(_ALPHABET) for _ in range(_KEY_ID))
    secret = _base62(int.from_bytes(secrets.token_bytes(32)), _SECRET)
    body = f"mlk_{key_id}_{secret}"
    return key_id, f"{body}_{_checksum(body)}"


def key_id_of(token: str) -> str | None:
    """Return the key id in *token*, or None if its form or its checksum is wrong."""
    found = _FORM.fullmatch(token)
    return found[2] if found is not None and _checksum(found[1]) == found[3] else None


def hash_of(token: str) -> bytes:
    """Return the hash that is stored of *token*, whose 256 random bits need no slow hash."""
    return sha256(token.encode("utf-8", "surrogatepass")).digest()


def _checksum(body: str) -> str:
    return _base62(zlib.crc32(body.encode("ascii")), _CHECKSUM)


def _base62(number: int, length: int) -> str:
    digits = []
    for _ in range(length):
        number, digit = divmod(number, len(_ALPHABET))
        digits.append(_ALPHABET[digit])
    return "".join(reversed(digits))
