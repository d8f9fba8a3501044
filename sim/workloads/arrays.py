"""Reads arrays that a user brings, of .npy and .npz files: judged before anything is allocated."""

import math
import warnings
import zipfile
from collections import UserDict
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from sim.workloads.files import MAX_RATIO, PIECE, InputError, read_unpacked, reason

ARRAY_MARK = b"\x93NUMPY"
ARCHIVE_MARKS = (b"PK\3\4", b"PK\5\6")
MAX_HEAD = 1 << 16  #: bytes in which the header of a .npy file must end
MAX_BYTES = 1 << 62
MAX_NUMBER = np.finfo(np.float64).max
KINDS = {"b": "bool", "iu": "integers", "biuf": "real numbers", "biufc": "numbers", "SU": "text"}
READERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


def layout_of(place: object, head: bytes | bytearray, size: int) -> dict[str, Any]:
    """Return shape, dtype, offset and order of the array in a .npy file that begins with ``head``.

    Raises InputError, which begins with ``place``, unless all the rest of its ``size`` bytes are
    the values of an array of numbers or texts.
    """
    file = BytesIO(head)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of headers that Python 2 wrote
            shape, fortran, dtype = READERS[npy.read_magic(file)](file)
    except Exception as error:  # NumPy's reader of headers raises nearly anything
        raise InputError(f"{place}: no .npy header of version 1 or 2 ({reason(error)})") from None
    shown = f"the shape {str(shape)[:60]} and type {dtype} of its header"
    least, most = min(shape, default=0), math.prod(max(each, 1) for each in shape)
    if least < 0 or not dtype.itemsize or most * dtype.itemsize > MAX_BYTES or len(shape) > 32:
        raise InputError(f"{place}: cannot have {shown}")
    if dtype.hasobject:
        raise InputError(f"{place}: holds Python objects, expected numbers")
    result, needed = size - file.tell(), math.prod(shape) * dtype.itemsize
    if result != needed:
        raise InputError(f"{place}: has {result:,} bytes of values, {shown} needs {needed:,}")
    order = "F" if fortran else "C"
    return {"shape": shape, "dtype": dtype, "offset": file.tell(), "order": order}


def read_array(path: Path) -> NDArray[Any]:
    """Return the array of a .npy file, which may be packed; raise InputError if it is none.

    It stays in the file, but for a packed one, so that it can be larger than this machine's memory.
    """
    try:
        with path.open("rb") as file:
            head = file.read(MAX_HEAD)
    except (OSError, ValueError):  # told apart, in words, by read_unpacked
        head = b""
    if head.startswith(ARRAY_MARK):
        layout = layout_of(path, head, path.stat().st_size)
        if math.prod(layout["shape"]):  # no file of nothing can be mapped
            return np.memmap(path, mode="r", **layout)
    return array_in(path, read_unpacked(path))


def array_in(place: object, content: bytes | bytearray) -> NDArray[Any]:
    """Return the array of a .npy file's ``content``; the error begins with ``place``."""
    if not content.startswith(ARRAY_MARK):
        raise InputError(f"{place}: is no .npy file, as numpy.save writes one of an array")
    layout = layout_of(place, content[:MAX_HEAD], len(content))
    writable = content if isinstance(content, bytearray) else bytearray(content)
    return np.ndarray(buffer=writable, **layout)


class Archive(UserDict[str, Any]):
    """Reads the arrays of an .npz file by name, each when it is asked for.

    Whatever is wrong with the file or with an array raises InputError, with ``path`` and name.
    """

    def __init__(self, path: Path, content: bytes | None = None) -> None:
        content = read_unpacked(path) if content is None else content
        if not content.startswith(ARCHIVE_MARKS):
            raise InputError(f"{path}: not an .npz file, as numpy.savez writes one")
        try:
            self.file = zipfile.ZipFile(BytesIO(content))
        except Exception as error:  # the reader of a damaged directory raises nearly anything
            raise InputError(f"{path}: not an .npz file ({reason(error)})") from None
        self.path, self.size, every = path, len(content), self.file.infolist()
        super().__init__({each.filename.removesuffix(".npy"): each for each in every})
        if len(self) < len(every):
            raise InputError(f"{path}: has two arrays of one name")

    def __getitem__(self, name: str) -> NDArray[Any]:
        member, place = self.data[name], f"{self.path}: array {name}"
        packed = member.compress_size if member.compress_type == zipfile.ZIP_DEFLATED else 0
        if packed > self.size or member.file_size > max(self.size, MAX_RATIO * packed):
            raise InputError(f"{place}: is larger than the file can hold")
        return array_in(place, self._content(name, member.file_size))

    def _content(self, name: str, most: int) -> bytearray:
        """Return about as many bytes as ``most`` from the beginning of a member."""
        content = bytearray()
        try:
            with self.file.open(self.data[name]) as file:
                while len(content) <= most and (piece := file.read(PIECE)):
                    content += piece
        except Exception as error:  # the reader of a damaged member raises nearly anything
            raise InputError(f"{self.path}: array {name}: is damaged ({reason(error)})") from None
        return content

    def size_of(self, name: str) -> int:
        """Return the number of values of an array, which its header tells."""
        head, size = self._content(name, MAX_HEAD), self.data[name].file_size
        return math.prod(layout_of(f"{self.path}: array {name}", head[:MAX_HEAD], size)["shape"])

    def take(self, name: str, kinds: str, *shape: int | str) -> NDArray[Any]:
        """Return an array that :func:`check` accepts."""
        if name not in self:
            raise InputError(f"{self.path}: has no array {name}, only {', '.join(self) or 'none'}")
        return check(f"{self.path}: {name}", self[name], kinds, *shape)


def check(place: str, result: NDArray[Any], kinds: str, *shape: int | str) -> NDArray[Any]:
    """Return an array of one of the ``kinds`` of NumPy, of ``shape``, finite; else InputError.

    A size that is not given is the name of what it counts.
    """
    fits = len(shape) == result.ndim and all(
        isinstance(expected, str) or size == expected
        for size, expected in zip(result.shape, shape, strict=True)
    )
    if not fits or result.dtype.kind not in kinds:
        expected = f"{KINDS[kinds]} [{', '.join(map(str, shape))}]"
        raise InputError(f"{place} must be {expected}, not {result.dtype} {list(result.shape)}")
    if result.dtype.kind in "fc" and not _is_finite(result):
        at = ", ".join(map(str, np.argwhere(~(np.abs(result) <= MAX_NUMBER))[0]))
        raise InputError(f"{place} must be finite, found NaN or infinity at [{at}]")
    return result


def _is_finite(result: NDArray[Any]) -> bool:
    """Return whether all values are finite; arrays of real numbers may fill half of the memory."""
    if result.dtype.kind == "c":
        return bool((np.abs(result) <= MAX_NUMBER).all())
    return bool(result.min(initial=0) >= -MAX_NUMBER and result.max(initial=0) <= MAX_NUMBER)
