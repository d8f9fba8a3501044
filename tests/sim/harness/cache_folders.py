"""Makes folders of a cache as builds leave them."""

import os
import time

import psutil

from sim.harness.cache import cached_folder
from sim.harness.pruning import HOUR

DAY = 24 * HOUR


def make(kind, key, age, size=1000):
    """Make an entry of a size that was last used some time ago."""

    def fill(folder):
        (folder / "inside").mkdir()
        (folder / "inside" / "file").write_bytes(bytes(size))

    folder, _ = cached_folder(kind, key, fill)
    then = time.time() - age
    os.utime(folder, (then, then))
    return folder


def lives(process):
    """Whether it can do anything; who adopts it may leave its exit status where it is."""
    try:
        return process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
