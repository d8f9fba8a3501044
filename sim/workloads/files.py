"""Reads files that a user brings: whole, and unpacked whatever they are called."""

import bz2
import gzip
import lzma
import warnings
import zlib
from collections.abc import Callable
from errno import EINVAL
from functools import partial
from io import BytesIO
from pathlib import Path
from typing import Any

UNPACKERS: dict[bytes, Callable[[BytesIO], Any]] = {
    b"\x1f\x8b": lambda file: gzip.GzipFile(fileobj=file),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\0": lzma.LZMAFile,
}
PACKED_SUFFIXES = (".gz", ".bz2", ".xz")
MAX_RATIO = 1032  #: largest ratio of deflate; what is packed more densely is no data
PIECE = 1 << 20  #: bytes that are unpacked at a time
TAR = (257, b"ustar")
BYTE_ORDER_MARK = b"\xef\xbb\xbf"


class InputError(ValueError):
    """Reports data that cannot be used, in one line that names the file and the place in it."""


def leave_out(text: str) -> None:
    """Tell the user, by a warning of one line, what of a file is left out on purpose."""
    warnings.warn(f"left out: {text}", stacklevel=2)


def reason(error: Exception) -> str:
    """Return in part of a line what another library says of a file."""
    return " ".join(str(error).split()) or type(error).__name__


def read_unpacked(path: Path, instead: str = "") -> bytes:
    """Return what the file holds; gzip, bzip2 and xz are told by their first bytes and unpacked.

    A byte order mark is left out. Raises InputError for what is no file (the message ends with
    ``instead``, which says what else could be named), for a damaged one, for one that grows more
    than data do when it is unpacked, and for a tar.
    """
    try:
        if path.is_char_device():  # which may never end
            raise OSError(EINVAL, "it is a device")
        content = path.read_bytes()
    except IsADirectoryError:
        raise InputError(f"{path}: is a folder, expected a file{instead}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise InputError(f"{path}: no such file{instead}") from None
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror})") from None
    except ValueError:  # a name that no file can have
        raise InputError(f"{path}: no such file{instead}") from None
    for magic, unpacker in UNPACKERS.items():
        if content.startswith(magic):
            content = _unpacked(path, unpacker(BytesIO(content)), MAX_RATIO * len(content))
            break
    start, mark = TAR
    if content[start : start + len(mark)] == mark:
        raise InputError(f"{path}: a tar archive; unpack it and name the file in it")
    return content.removeprefix(BYTE_ORDER_MARK)


def _unpacked(path: Path, file: Any, most: int) -> bytes:
    pieces, size = [], 0
    try:
        for piece in iter(partial(file.read, PIECE), b""):
            pieces.append(piece)
            size += len(piece)
            if size > most:
                raise InputError(f"{path}: grows more than {MAX_RATIO}-fold, which no data do")
    except (OSError, EOFError, zlib.error, lzma.LZMAError) as error:
        raise InputError(f"{path}: malformed file ({reason(error)})") from None
    return b"".join(pieces)
