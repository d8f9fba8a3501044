"""Drives a switch for every system on a simulated card, as the card's host does."""

from hdl.u280.network_switch_board import NetworkSwitchBoard
from sim.harness.host_program import HostProgram
from sim.network_switch.side import switch_side
from sim.surroundings.card.host import BlockCard


class CardNetworkSwitch(BlockCard, HostProgram):
    """Drives the switch's own registers, and finds the bus of all its parts as ``axil``."""

    flow = NetworkSwitchBoard.flow

    def drive(self, bar: object) -> None:
        """Drive the switch through ``bar``."""
        HostProgram.__init__(self, self.pcie.signals, bar, switch_side(self.params))
