"""Places the forwarding switch on an Alveo U280."""

from hdl.switch.forwarding.params import ForwardingParams
from hdl.switch.forwarding.switch import ForwardingSwitch
from hdl.u280.cages_board import CagesBoard


class ForwardingSwitchBoard(CagesBoard):
    """Places a switch of two ports: cage k is port k.

    The far end of a cage pauses each priority alone, and is paused so where a class is lossless
    (:class:`hdl.u280.mac.Mac`). Packets of 65 to 79 bytes, without checksum, may come faster than a
    core at 250 MHz takes them: then all priorities are paused.

    BAR 0, 1 MB: the switch's registers at 0, the board's (:func:`board_registers`) at 0x10000.
    HBM is not used and not set up, so its temperature pin is held low. There is no interrupt.
    """

    switch = ForwardingSwitch
    flow = "priorities"

    def headrooms(self, params: ForwardingParams) -> dict[str, int]:
        """Return the beats that a class takes after it has requested a pause."""
        return {"headroom": params.headroom}
