"""Tells pytest about simulations: which items simulate, on which seeds, and what came of it.

``tests/conftest.py`` names this plugin, so that ``pytest`` and ``ingather verify`` run alike. The
tests of another package name it likewise.
"""

pytest_plugins = [
    "sim.verify.surroundings",
    "sim.verify.seeds",
    "sim.verify.long",
    "sim.verify.one_size",
    "sim.verify.records",
    "sim.verify.order",
]
