"""Writes folders and files whole: a reader finds what was there before or what is finished."""

import ctypes
import errno
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from gen.base.errors import UserError

#: errors of a write to a disk, which do not name the file
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EROFS, errno.EIO)
MANIFEST = "manifest.json"
MADE_BY = "ingather"
CACHE = "__pycache__"  #: Python writes such folders beside modules that a user's program imports


def check_target(target: Path) -> None:
    """Raise UserError unless ``target`` is new, empty, or all of it was written by us."""
    if os.path.islink(os.path.realpath(target)):
        raise UserError(f"cannot write to {target}: its links lead in a circle")
    if not target.exists():
        check_above(target)
        return
    if not target.is_dir():
        raise UserError(f"{target} is not a folder")
    present = {p.relative_to(target) for p in target.rglob("*") if not p.is_dir()}
    if not present:
        return
    try:
        manifest = json.loads((target / MANIFEST).read_text())
        own = {MANIFEST, *manifest["files"]} if manifest["made_by"] == MADE_BY else set()
    except (OSError, ValueError, KeyError, TypeError):
        own = set()
    if not own:
        raise UserError(f"{target} is not empty and was not made by ingather; choose another")
    if foreign := sorted({str(p) for p in present if CACHE not in p.parts} - own):
        raise UserError(f"{target} holds what ingather did not write, such as {foreign[0]}")


def check_above(target: Path) -> None:
    """Raise UserError if what is to be a folder above ``target`` is something else."""
    present = next(above for above in target.absolute().parents if above.exists())
    if not present.is_dir():
        raise UserError(f"cannot write to {target}: {present} is not a folder")


@contextmanager
def written_whole(target: Path) -> Iterator[Path]:
    """Make a folder to write into, which becomes ``target`` if the block ends well.

    If it does not, nothing is left of it, nor of folders above it that were not there.
    """
    name, target = target, Path(os.path.realpath(target))
    check_target(target)
    parent = target.parent
    built = [above for above in target.parents if not above.exists()]
    folder = parent / f".{target.name}-{secrets.token_hex(4)}"
    try:
        parent.mkdir(parents=True, exist_ok=True)
        folder.mkdir(mode=0o700)
        yield folder
        folder.chmod(0o777 & ~current_umask())
        if target.exists():
            exchange(folder, target)
        else:
            folder.rename(target)
    except OSError as error:
        if error.filename is None and error.errno not in NO_ROOM:
            raise
        place = str(error.filename or f"{name} or temporary files").replace(str(folder), str(name))
        raise UserError(f"cannot write {place}: {error.strerror}") from error
    except KeyboardInterrupt as stop:
        stop.add_note(
            f"{name} is as it was" if target.exists() else f"nothing was written to {name}"
        )
        raise
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        for above in built if not target.exists() else ():
            with suppress(OSError):  # something else is in it by now
                above.rmdir()


def check_file(target: Path) -> None:
    """Raise UserError, before the work is done, for a file that cannot be written."""
    if target.is_dir():
        raise UserError(f"{target} is a folder")
    if not target.absolute().parent.is_dir():
        raise UserError(f"cannot write {target}: there is no folder {target.parent}")


def write_file(target: Path, content: str | bytes) -> None:
    """Write ``target`` whole, or leave what was there before; UserError if that cannot be."""
    octets = content.encode() if isinstance(content, str) else content
    try:
        if target.exists() and not target.is_file():  # such as /dev/stdout
            target.write_bytes(octets)
            return
        target = Path(os.path.realpath(target))
        with tempfile.TemporaryDirectory(prefix=f".{target.name}-", dir=target.parent) as folder:
            new = Path(folder, target.name)
            new.write_bytes(octets)
            new.replace(target)
    except OSError as error:
        raise UserError(f"cannot write {target}: {error.strerror}") from error


def current_umask() -> int:
    """Return the permissions that new files may not have; only setting the mask tells it."""
    umask = os.umask(0o022)
    os.umask(umask)
    return umask


def exchange(new: Path, old: Path) -> None:
    """Let two folders exchange their names, in one step where the system can."""
    rename: Callable[..., int] | None = getattr(ctypes.CDLL(None), "renameat2", None)
    near, exchange_flag = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
    if rename and not rename(near, os.fsencode(new), near, os.fsencode(old), exchange_flag):
        return
    aside = new.with_name(new.name + "-old")
    old.rename(aside)
    new.rename(old)
    aside.rename(new)
