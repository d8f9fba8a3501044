"""Places NetSparse's switch on an Alveo U280."""

from hdl.netsparse.switch.switch import NetSparseSwitch
from hdl.u280.cages_board import CagesBoard
from hdl.u280.mac_signals import CLASSES


class NetSparseSwitchBoard(CagesBoard):
    """Places a switch of two ports, so that its cache can be tried between two links.

    Cage k is port k. Reads and responses share a cage, each with a way and a buffer of its own and
    a priority that either end pauses alone (:class:`hdl.u280.mac.Mac`), so that no packet is lost
    for want of room. With a node at one cage and another one, or a further switch, at the other,
    the latter is the uplink: its properties are what the cache holds.

    BAR 0, 1 MB: the switch's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    HBM is not used and not set up, so its temperature pin is held low. There is no interrupt.
    """

    switch = NetSparseSwitch
    flow = "kinds"
    streams = tuple(f"axis_{name}" for name in CLASSES)
