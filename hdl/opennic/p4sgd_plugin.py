"""Makes P4SGD's switch, or MINA's, a plugin for OpenNIC."""

from hdl.opennic.plugin import SwitchPlugin
from hdl.p4sgd.network.frame import ETHERTYPE
from hdl.p4sgd.switch.switch import Switch


class P4sgdPlugin(SwitchPlugin):
    """Places P4SGD's switch, with a worker at each MAC, between OpenNIC's MACs and the host."""

    switch = Switch
    ethertype = ETHERTYPE
    switch_words = 64  # its answers have a beat each
