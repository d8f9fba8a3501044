"""Gives pytest the options of ingather's simulations, such as ``--seed``."""

pytest_plugins = ["sim.verify.plugin"]
