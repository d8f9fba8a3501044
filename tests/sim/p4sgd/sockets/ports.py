"""Finds UDP ports of this machine for a switch."""

from contextlib import closing, suppress

from sim.golden.reduction.switch_model import SwitchModel
from sim.p4sgd.host.job import GROUP, SWITCH
from sim.p4sgd.sockets.switch import SocketSwitch


def two_free_ports():
    """Return the first of two UDP ports in a row that nobody has."""
    while True:
        with closing(SocketSwitch(model=SwitchModel(1, 1, 1, SWITCH, GROUP))) as own:
            first = own.places[0][1]
        with suppress(OSError, OverflowError):
            model = SwitchModel(2, 1, 1, SWITCH, GROUP)
            SocketSwitch(model=model, first_port=first).close()
            return first
