"""Measures functional coverage: what the tests have made each unit's ports do."""

from sim.functional.merge import merge

__all__ = ["merge"]
