"""Imports the modules of tests in the process that simulators are forked from, once for all.

A simulation needs as long to import its tests, with assertions rewritten, as a short test takes.
"""

import os
import sys
from collections.abc import Iterable
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

from _pytest.assertion import install_importhook
from _pytest.config import Config

from sim.harness.cache import CHECKOUT

__all__ = ["preload", "stale"]

_rewriting: list[str] = []  #: patterns of the files in which pytest rewrites assertions
_stamps: dict[str, tuple[int, int]] = {}  #: time and size of the files of imported modules


def preload(modules: Iterable[str], patterns: str) -> bool:
    """Import ``modules``, if all are of this checkout; return whether they are imported now.

    Assertions are rewritten in files that match one of ``patterns``. A module that cannot be
    imported here is left to the simulation, which tells why.
    """
    if not all(is_own(name) for name in modules):
        return False
    rewrite(patterns)
    try:
        for name in modules:
            import_module(name)
    except BaseException:
        return False
    finally:
        note_files()
    return True


def is_own(name: str) -> bool:
    """Return whether a module is of this checkout."""
    with suppress(ImportError, ValueError):
        spec = find_spec(name)
        return bool(spec and spec.origin and Path(spec.origin).is_relative_to(CHECKOUT))
    return False


def rewrite(patterns: str) -> None:
    """Let pytest rewrite assertions in files of these names, too."""
    if not _rewriting:
        options = ["--capture=no", "-o", f"python_files={patterns}"]
        hook = install_importhook(Config.fromdictargs({}, options))
        hook.fnpats = _rewriting
    _rewriting.extend(pattern for pattern in patterns.split() if pattern not in _rewriting)


def note_files() -> None:
    """Remember the files of this checkout that have been imported, as they are now."""
    for module in list(sys.modules.values()):
        path = getattr(module, "__file__", None)
        if path and path not in _stamps and path.startswith(f"{CHECKOUT}{os.sep}"):
            _stamps[path] = stamp(path)


def stamp(path: str) -> tuple[int, int]:
    """Return when a file was written and how long it is; zeros if it is gone."""
    try:
        result = os.stat(path)
    except OSError:
        return 0, 0
    return result.st_mtime_ns, result.st_size


def stale() -> bool:
    """Return whether a file has changed since it was imported."""
    return any(stamp(path) != known for path, known in _stamps.items())
