"""Decides which of our own environment variables the programs that build and simulate may have.

cocotb, GPI, Python, Verilator, make and compilers read many variables; some choose tests, libraries
or flags. One that a shell happens to have must not change what is tested.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

__all__ = ["changed", "forget", "inherited"]

OWN = "INGATHER_"  #: prefix of the project's own variables, which are passed on
PASSED_ON = {
    *("HOME", "LANG", "LC_ALL", "LC_CTYPE", "LOGNAME", "PATH", "TMPDIR", "TZ", "USER"),
    *("LD_LIBRARY_PATH", "SOURCE_DATE_EPOCH"),
    # Where a compiler looks for headers and libraries, and keeps what it has compiled.
    *("CCACHE_DIR", "CPATH", "CPLUS_INCLUDE_PATH", "LIBRARY_PATH"),
}


def inherited() -> dict[str, str]:
    """Return those of our environment variables that a build or a simulation may have."""
    return {
        name: value
        for name, value in os.environ.items()
        if name in PASSED_ON or name.startswith(OWN)
    }


def forget() -> None:
    """Unset in this process what cocotb reads, some of it when it is imported."""
    for name in [n for n in os.environ if n.startswith(("COCOTB_", "GPI_", "PYGPI_"))]:
        del os.environ[name]


@contextmanager
def changed(values: Mapping[str, str | None]) -> Iterator[None]:
    """Give variables these values for as long as the block lasts; one that is None is unset."""
    before = {name: os.environ.get(name) for name in values}
    give(values)
    try:
        yield
    finally:
        give(before)


def give(values: Mapping[str, str | None]) -> None:
    """Give variables these values; one that is None is unset."""
    for name, value in values.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value
