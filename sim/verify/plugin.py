"""What pytest learns of simulations: which items simulate, on which seeds, and what came of it.

``tests/conftest.py`` names this plugin, so that ``pytest`` and ``ingather verify`` run alike.
"""

pytest_plugins = [
    "sim.verify.seeds",
    "sim.verify.long",
    "sim.verify.one_size",
    "sim.verify.records",
    "sim.verify.order",
]
