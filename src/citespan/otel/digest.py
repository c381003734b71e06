"""Keyed digests of cited values, so that equal values can be seen to be equal and no value can be looked up.

A plain hash of a short id is no secret: whoever has the span tries all ids. BLAKE2b (RFC 7693) with a
secret key, cut to 16 hex digits, which the smallest usual attribute length limit leaves whole.

The key is `CITESPAN_DIGEST_KEY` (any text), else a file of the user's that is made on first use, else,
where there is no place to keep one, random for this process. Digests of different keys do not compare:
`provenance.digest_key` names the key.
"""

from __future__ import annotations

import contextlib
import functools
import os
import secrets
import stat
import tempfile
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Any, Final

from citespan.otel.posture import logger

VARIABLE: Final = "CITESPAN_DIGEST_KEY"
KEY_BYTES: Final = 32
DIGEST_BYTES: Final = 8
MAX_KNOWN: Final = 1024
MAX_KNOWN_CHARS: Final = 128


class Digester:
    """Makes the digests of one key.

    Args:
        key: 1 to 64 secret bytes.

    Example:
        >>> digester = Digester(b"secret")
        >>> digester.digest("1") == digester.digest(1), digester.digest(1) == digester.digest(1.0)
        (False, True)
    """

    __slots__ = ("_fresh", "_known", "key_id")

    def __init__(self, key: bytes) -> None:
        self._fresh = blake2b(key=key, digest_size=DIGEST_BYTES)
        #: digests of short texts: agents pass the same names again and again
        self._known: dict[str, str] = {}
        #: names the key without giving it away: 8 hex digits
        self.key_id = blake2b(b"key id", key=key, digest_size=4).hexdigest()

    def digest(self, value: Any) -> str:
        """Digest of a leaf, 16 hex digits. Values that are equal as JSON have one digest, others have not."""
        if type(value) is not str:
            return self._make(_canonical(value))
        known = self._known.get(value)
        if known is None:
            known = self._make(b"s" + value.encode("utf-8", "surrogatepass"))
            if len(value) <= MAX_KNOWN_CHARS:
                if len(self._known) >= MAX_KNOWN:
                    self._known.clear()
                self._known[value] = known
        return known

    def _make(self, data: bytes) -> str:
        state = self._fresh.copy()
        state.update(data)
        return state.hexdigest()


def _canonical(value: Any) -> bytes:
    if value is None or value is True or value is False:
        return repr(value).encode()
    if type(value) is float and value.is_integer():
        value = int(value)
    if type(value) is int:
        return b"n%x" % value
    return f"{type(value).__name__}{value!r}".encode("utf-8", "replace")


@functools.lru_cache(maxsize=1)
def default_digester() -> Digester:
    """The digester of this process, its key found on first use."""
    return Digester(find_key(os.environ))


def find_key(environ: Mapping[str, str]) -> bytes:
    """The digest key: from the environment, the user's file, or random. Never raises."""
    text = environ.get(VARIABLE, "").strip()
    if text:
        return blake2b(text.encode("utf-8", "surrogateescape"), digest_size=KEY_BYTES).digest()
    try:
        return _from_file(key_file(environ))
    except (OSError, RuntimeError, ValueError) as error:
        logger.info("no digest key can be kept (%s): digests compare within this process only", type(error).__name__)
        return secrets.token_bytes(KEY_BYTES)


def key_file(environ: Mapping[str, str]) -> Path:
    """Where a user's key is kept: `$XDG_STATE_HOME/citespan/digest.key`, by default under `~/.local/state`.

    Raises:
        RuntimeError: the user has no home directory.
    """
    state = environ.get("XDG_STATE_HOME", "")
    base = Path(state) if os.path.isabs(state) else Path.home() / ".local" / "state"
    return base / "citespan" / "digest.key"


def _from_file(path: Path) -> bytes:
    with contextlib.suppress(FileNotFoundError):
        return _read(path)
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    # written whole under another name (mkstemp makes it 0600), then linked: a reader never sees half a key,
    # and of several processes that start at once the first to link wins
    handle, temporary = tempfile.mkstemp(dir=path.parent, prefix=".digest-")
    try:
        with os.fdopen(handle, "w") as file:
            file.write(secrets.token_hex(KEY_BYTES))
        with contextlib.suppress(FileExistsError):
            os.link(temporary, path)
    finally:
        os.unlink(temporary)
    return _read(path)


def _read(path: Path) -> bytes:
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0))
    with os.fdopen(handle, "rb") as file:
        if hasattr(os, "getuid"):
            state = os.fstat(handle)
            if state.st_uid != os.getuid():
                raise PermissionError("the digest key belongs to another user")
            if stat.S_IMODE(state.st_mode) & 0o077:
                os.fchmod(handle, 0o600)
        key = bytes.fromhex(file.read(4 * KEY_BYTES).decode("ascii"))
    if len(key) != KEY_BYTES:
        raise ValueError("the digest key file does not hold a key")
    return key
