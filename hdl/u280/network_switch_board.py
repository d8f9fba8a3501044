"""Places the switch for every system on an Alveo U280."""

from hdl.network_switch.params import NetworkSwitchParams
from hdl.network_switch.switch import NetworkSwitch
from hdl.u280.cages_board import CagesBoard


class NetworkSwitchBoard(CagesBoard):
    """Places a switch of two ports: cage k is port k, whose packets of all systems share the cage.

    The far end of a cage pauses each priority alone, and is paused so where a class is lossless, as
    NetSparse's are (:class:`hdl.u280.mac.Mac`). Packets of 65 to 79 bytes, without checksum, may
    come faster than a core at 250 MHz takes them: then all priorities are paused.

    BAR 0, 1 MB: the switch's registers at 0, a page of 4 KB for each part; the board's
    (:func:`board_registers`) at 0x10000. HBM is not used and not set up, so its temperature pin is
    held low. There is no interrupt.
    """

    switch = NetworkSwitch
    flow = "priorities"

    def headrooms(self, params: NetworkSwitchParams) -> dict[str, int]:
        """Return the beats that a class takes after it has requested a pause, by part."""
        result = {"forwarding.headroom": params.forwarding.headroom}
        return result | (
            {"lossless.headroom": params.lossless.headroom} if params.has_netsparse else {}
        )
