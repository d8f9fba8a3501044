"""Identifies the sources of ingather that a process runs, for workers to have the same."""

from sim.harness.cache import CHECKOUT, digest
from sim.harness.closure import UNREAD

FOLDERS = ("constraints", "gen", "hdl", "sim", "tests")  #: an installation has not all of them


def sources() -> str:
    """Return a hash of the names and contents of all files that this process may depend on."""
    paths = (path for folder in FOLDERS for path in (CHECKOUT / folder).rglob("*"))
    files = sorted(path for path in paths if path.is_file() and path.suffix not in UNREAD)
    names = ((path.relative_to(CHECKOUT).as_posix(), path.read_bytes().hex()) for path in files)
    return digest(*(part for pair in names for part in pair))
