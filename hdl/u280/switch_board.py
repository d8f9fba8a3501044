"""Places P4SGD's switch on an Alveo U280."""

from hdl.p4sgd.switch.switch import Switch
from hdl.u280.cages_board import CagesBoard


class SwitchBoard(CagesBoard):
    """Places the switch with a worker at each of the card's two cages.

    BAR 0, 1 MB: the switch's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    HBM is not used and not set up, so its temperature pin is held low. There is no interrupt.
    """

    switch = Switch
