"""Describes what surrounds user logic in OpenNIC's box at 250 MHz: ports, widths and rules.

The source is Xilinx/open-nic-shell: ``src/box_250mhz/box_250mhz.sv`` (ports), its README (rules of
streams), ``src/system_config/system_config_address_map.sv`` (addresses) and ``src/packet_adapter``
(which stores whole packets either way, and drops those for another MAC).
"""

from collections.abc import Mapping

from amaranth.hdl import Shape
from amaranth.lib.wiring import In, Out

from hdl.common.axi import BusSignature, Response
from hdl.common.packets import AXIS

PORTS = 2  #: CMAC ports, and as many physical functions of QDMA, of which function k is port k's
RESETS = 16  #: reset pairs of a box, of which the plugin uses the first
FIRST_MAC = 6  #: bit of MAC port 0 in ``tuser_src`` and ``tuser_dst``; functions are from bit 0
WINDOW_BITS = 20  #: width of an address in the box's window
WINDOW = 0x100000  #: address of the box's window in the shell's BAR 2
MAX_PACKET_BYTES = 9600  #: most bytes that ``-max_pkt_len`` of the shell's build can be


class BoxStreamSignature(BusSignature):
    """Describes a stream of packets of the box: AXI4-Stream with a packet's size and way.

    ``tuser_size`` is the number of bytes of the packet, of up to 65,535; ``tuser_src`` and
    ``tuser_dst`` have a bit for each function and each MAC. All three are constant while a packet
    passes. Out of the shell ``tkeep`` agrees with the size, and ``tuser_dst`` is 0.
    """

    def __init__(self) -> None:
        own = {name: AXIS.members[name] for name in ("tdata", "tkeep", "tlast", "tvalid", "tready")}
        side = dict.fromkeys(("tuser_size", "tuser_src", "tuser_dst"), Out(16))
        super().__init__(own | side)


class BoxLiteSignature(BusSignature):
    """Describes the box's AXI4-Lite: without strobes and protection, each write is of a word."""

    def __init__(self) -> None:
        super().__init__(
            {
                **dict.fromkeys(("awaddr", "wdata", "araddr"), Out(32)),
                **dict.fromkeys(("awvalid", "wvalid", "bready", "arvalid", "rready"), Out(1)),
                **dict.fromkeys(("awready", "wready", "bvalid", "arready", "rvalid"), In(1)),
                **dict.fromkeys(("bresp", "rresp"), In(Response)),
                "rdata": In(32),
            }
        )


BOX_STREAM = BoxStreamSignature()
BOX_LITE = BoxLiteSignature()
#: buses of packets: those whose name begins with s_ lead into the plugin
STREAMS = (
    "s_axis_qdma_h2c",
    "m_axis_qdma_c2h",
    "m_axis_adap_tx_250mhz",
    "s_axis_adap_rx_250mhz",
)


def box_ports() -> Mapping[str, tuple[str, int]]:
    """Return the ports of the box with PORTS MACs and functions: direction and width by name.

    A bus of packets is an array of PORTS, side by side, port 0 in the lowest bits.
    """
    ports = {}
    buses = [("s_axil", BOX_LITE, 1), *((name, BOX_STREAM, PORTS) for name in STREAMS)]
    for bus, signature, count in buses:
        for name, member in signature.members.items():
            drives = (member.flow is Out) == bus.startswith("m_")
            width = count * Shape.cast(member.shape).width
            ports[f"{bus}_{name}"] = ("output" if drives else "input", width)
    resets = {"mod_rstn": ("input", RESETS), "mod_rst_done": ("output", RESETS)}
    resets |= {"box_rstn": ("input", 1), "box_rst_done": ("output", 1)}
    clocks = dict.fromkeys(("axil_aclk", "ref_clk_100mhz", "axis_aclk"), ("input", 1))
    return ports | resets | clocks


def mac_bit(port: int) -> int:
    """Return the bit of ``tuser_src`` and ``tuser_dst`` that says MAC ``port``."""
    return 1 << FIRST_MAC + port
