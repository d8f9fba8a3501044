"""Makes each switch of two ports a plugin for OpenNIC."""

from typing import Any

from hdl.netsparse.switch.switch import NetSparseSwitch
from hdl.opennic.plugin import SwitchPlugin
from hdl.p4sgd.network.frame import ETHERTYPE
from hdl.p4sgd.switch.switch import Switch
from hdl.switchgnn.protocol import ETHERTYPE as GNN_ETHERTYPE
from hdl.switchgnn.switch.switch import GnnSwitch
from hdl.u280.mac_signals import CLASSES


class P4sgdPlugin(SwitchPlugin):
    """Places P4SGD's switch or MINA's, with a worker or a further switch at each MAC."""

    switch = Switch
    ethertype = ETHERTYPE
    switch_words = 64  # its answers have a beat each


class GnnPlugin(SwitchPlugin):
    """Places SwitchGNN's switch, with a worker at each MAC; its tables are on chip."""

    switch = GnnSwitch
    ethertype = GNN_ETHERTYPE

    def __init__(self, params: Any) -> None:
        if params.in_memory:
            raise ValueError("tables must be chip in OpenNIC's box, which has no memory: memory")
        super().__init__(params)


class NetSparsePlugin(SwitchPlugin):
    """Places NetSparse's switch, with a node or a further switch at each MAC.

    OpenNIC's MACs pause nobody. The switch makes senders wait when it is full, so packets for it
    are stored first, reads and responses apart, and what finds no room is dropped and counted; the
    watchdog of the command that misses it then ends that command.
    """

    switch = NetSparseSwitch
    ethertype = 0  # they are IPv4's, and other fields say which are NetSparse's, not the EtherType
    streams = tuple(f"axis_{name}" for name in CLASSES)
