"""Identifies the version of the sources that a metric comes from."""

from collections.abc import Sequence
from functools import lru_cache

from sim.harness.closure import digest_of

#: what estimates come from, besides the hardware
SYNTHESIS = ("gen.sweep.synthesis",)


@lru_cache
def version(modules: Sequence[str]) -> str:
    """Return a hash of all files that ``modules`` depend on, as this process finds them."""
    return digest_of(modules)[:16]
