"""Reads files that a user brings: whole, and unpacked whatever they are called."""

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable
from pathlib import Path

UNPACKERS: dict[bytes, Callable[[bytes], bytes]] = {
    b"\x1f\x8b": gzip.decompress,
    b"BZh": bz2.decompress,
    b"\xfd7zXZ\0": lzma.decompress,
}
PACKED_SUFFIXES = (".gz", ".bz2", ".xz")
TAR = (257, b"ustar")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class UnreadableError(ValueError):
    """Reports a file that is missing or cannot be unpacked, in one line for the user."""


def read_unpacked(path: Path, instead: str = "") -> bytes:
    """Return what the file holds; gzip, bzip2 and xz are told by their first bytes and unpacked.

    A byte order mark is left out. Raises UnreadableError for what is no file (the message ends
    with ``instead``, which says what else could be named), for a damaged one and for a tar.
    """
    try:
        content = path.read_bytes()
    except IsADirectoryError:
        raise UnreadableError(f"{path}: is a folder, expected a file{instead}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise UnreadableError(f"{path}: no such file{instead}") from None
    except OSError as error:
        raise UnreadableError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError:  # a name that no file can have
        raise UnreadableError(f"{path}: no such file{instead}") from None
    for magic, unpack in UNPACKERS.items():
        if content.startswith(magic):
            try:
                content = unpack(content)
            except (OSError, EOFError, ValueError, zlib.error, lzma.LZMAError) as error:
                raise UnreadableError(f"{path}: malformed file ({error})") from None
            break
    start, mark = TAR
    if content[start : start + len(mark)] == mark:
        raise UnreadableError(f"{path}: a tar archive; unpack it and name the file in it")
    return content.removeprefix(BYTE_ORDER_MARK)
