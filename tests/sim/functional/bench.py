"""Holds a dut of wires without a simulator, and what groups have counted."""

from types import SimpleNamespace

from sim.functional.groups import groups


class Dut:
    """Ports with values, as a simulator has them."""

    def __init__(self, **values):
        for name, value in values.items():
            setattr(self, name, SimpleNamespace(value=value))


def hits(name):
    return {bin for bin, count in groups[name].items() if count}
