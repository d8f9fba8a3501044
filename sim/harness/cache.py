"""Makes folders once and finds them again by the hash of what they are made from."""

import fcntl
import os
import re
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[2]
PLAIN = re.compile(r"[\w./+-]+", re.ASCII)  #: a path without what make or a shell reads as a mark
SESSION = "INGATHER_SESSION"  #: environment: the name of the command that this process works for


def cache_root() -> Path:
    """Return the cache: ``$INGATHER_CACHE``, ``build`` of the checkout, or a user's folder."""
    if chosen := os.environ.get("INGATHER_CACHE"):
        return Path(chosen).absolute()
    if (CHECKOUT / "pyproject.toml").exists():
        return CHECKOUT / "build"
    return Path.home() / ".cache" / "ingather"


def keep_log(name: str, text: str) -> Path:
    """Write what a program said into the cache; the last of each ``name`` is kept."""
    log = cache_root() / "logs" / f"{name}.txt"
    log.parent.mkdir(parents=True, exist_ok=True)
    log.write_text(text)
    return log


def digest(*parts: str) -> str:
    """Return the name of a folder made from ``parts``; no two lists of parts share one."""
    total = sha256()
    for part in parts:
        data = part.encode()
        total.update(f"{len(data)}:".encode() + data)
    return total.hexdigest()[:24]


def unfinished_name(name: str) -> str:
    """Add the session to ``name``, so that :func:`forget` finds what the session leaves."""
    return f"{name}{os.environ.get(SESSION, '')}"


def forget(session: str) -> None:
    """Remove what processes of ``session``, which have all ended, had not finished in the cache."""
    folders = ("scratch", "runs", "*/.unfinished", "*/*/.unfinished")
    left = [path for item in folders for path in cache_root().glob(f"{item}/*{session}*")]
    left += [path for item in scratch_folders() for path in item.glob(f"work-*{session}*")]
    for path in left:
        shutil.rmtree(path, ignore_errors=True)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the lock file ``path``; the system lets go of it when the process dies."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def cached_folder(kind: str, key: str, make: Callable[[Path], None]) -> tuple[Path, bool]:
    """Return the folder ``kind/key`` of the cache, and whether it was made just now.

    ``make`` fills an empty folder. It works under another name, which becomes the final one when
    it returns: a folder that is there is finished. Processes that want one folder wait for the
    first of them to make it. The folder's time tells when it was last asked for.
    """
    root = cache_root() / kind
    folder = root / key
    with locked(root / ".locks" / key):
        if folder.is_dir():
            return result_folder(kind, key), False
        unfinished = root / ".unfinished" / unfinished_name(key)
        shutil.rmtree(unfinished, ignore_errors=True)  # left by a process that was killed
        unfinished.mkdir(parents=True)
        try:
            make(unfinished)
            os.replace(unfinished, folder)
        except BaseException as error:
            shutil.rmtree(unfinished, ignore_errors=True)
            if isinstance(error, OSError) and error.filename is None:
                error.filename = str(folder)  # a write does not say where it failed
            raise
    return folder, True


def result_folder(kind: str, key: str) -> Path:
    """Return the folder ``kind/key`` of the cache; raise FileNotFoundError if it is not there.

    Its time tells from then on that it was asked for.
    """
    folder = cache_root() / kind / key
    try:
        os.utime(folder)
    except OSError:
        folder.stat()  # there, in a cache that others keep
    return folder


@contextmanager
def workplace() -> Iterator[Path]:
    """Make a scratch folder whose path ``make`` and a shell read as it stands."""
    place = scratch_folders()[0]
    if place.is_relative_to(cache_root()):
        place.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=unfinished_name("work-"), dir=place, ignore_cleanup_errors=True
    ) as folder:
        yield Path(folder)


def scratch_folders() -> list[Path]:
    """Return the folders with plain paths that scratch folders may be in, the best first."""
    places = (cache_root() / "scratch", Path(tempfile.gettempdir()), Path("/tmp"))
    return [place for place in places if PLAIN.fullmatch(str(place))]
