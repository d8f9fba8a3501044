"""Brings PCI Express into the clock that it gives: registers, memory of either side."""

from typing import Any

from amaranth.hdl import Const, Module, Signal, Value
from amaranth.lib.wiring import In, Out

from hdl.common.axi import Axi4Signature, AxiLiteSignature
from hdl.common.component import Component
from hdl.common.params import Params, tagged, whole
from hdl.u280 import axi_ip, pcie_ip
from hdl.u280.axi_wires import bus_wires, connect_bus
from hdl.u280.clock_ip import REFCLK_BUFFER
from hdl.u280.registers import ADDRESS_BITS as BOARD_BITS
from hdl.u280.registers import BASE
from hdl.u280.vendor import VendorIp

HBM_REGION = 33  #: address bits of what a host's DMA sees from 0 on
MODEL_BASE = 1 << HBM_REGION  #: where the host's DMA sees a model
BEAT_BITS = 256  #: width of a beat of what leaves for memories here
LEAST_REGION = 12  #: least address bits that a decoder tells apart
PINS = {
    "refclk_p": In(1),
    "refclk_n": In(1),
    "reset_n": In(1),
    "rx_p": In(pcie_ip.LANES),
    "rx_n": In(pcie_ip.LANES),
    "tx_p": Out(pcie_ip.LANES),
    "tx_n": Out(pcie_ip.LANES),
}


class PcieParams(Params, suffix="{register_bits}"):
    """Says what the host reaches through PCI Express."""

    #: width of a byte address of the design's registers
    register_bits: int = whole(LEAST_REGION, 16)
    #: width of a byte address of a model that DMA reaches; 0: none
    model_bits: int = tagged("_{}", default=0)


class Link(Component):
    """Describes pins, clock and reset that all forms of PCI Express have.

    ``user_clk`` is the clock of all other ports and ``user_reset`` its reset, until the link is up
    and when the host resets it. ``clock`` is the path of what makes the clock: an instance and its
    output.
    """

    domains = ()
    primitives = (REFCLK_BUFFER,)
    clock = "ip/axi_aclk"
    vendor_ips: tuple[VendorIp, ...]

    def __init__(self, params: Any, **ports: Any) -> None:
        super().__init__(params, **PINS, user_clk=Out(1), user_reset=Out(1), **ports)

    def lanes(self) -> dict[str, Signal]:
        """Return the lanes' pins by the names that the IP gives them."""
        return {
            f"pci_exp_{path}{pole}": getattr(self, f"{path}_{pole}")
            for path in ("rx", "tx")
            for pole in "pn"
        }

    def place_reference(self, m: Module) -> dict[str, Signal]:
        """Place the buffer of the reference clock; return the IP's two clocks by name."""
        m.submodules.refclk = REFCLK_BUFFER.place(
            I=self.refclk_p,
            IB=self.refclk_n,
            CEB=Const(0, 1),
            O=(gt := Signal(name="refclk_gt")),
            ODIV2=(half := Signal(name="refclk_half")),
        )
        return {"sys_clk": half, "sys_clk_gt": gt}


class RegisterLink(Link):
    """Describes registers and interrupt that links for designs with AXI4-Lite have.

    ``registers[0]`` are the design's, at 0; ``registers[1]`` the board's, at BASE. ``irq`` and
    ``irq_ack`` are the core's (:class:`hdl.u280.interrupt_request.InterruptRequest`).
    """

    def __init__(self, params: PcieParams, **ports: Any) -> None:
        regions = ((0, max(LEAST_REGION, params.register_bits)), (BASE, BOARD_BITS))
        self.decoder = axi_ip.crossbar("register_decoder", pcie_ip.REGISTER_BUS, regions)
        registers = Out(pcie_ip.REGISTER_BUS).array(2)
        super().__init__(params, irq=In(1), irq_ack=Out(1), registers=registers, **ports)

    def place_link(self, m: Module, ip: VendorIp, **wires) -> None:
        """Place XDMA's IP, with ``wires`` to what its form has of its own."""
        running = Signal()
        m.submodules.ip = ip.place(
            **self.place_reference(m),
            **self.lanes(),
            sys_rst_n=self.reset_n,
            axi_aclk=self.user_clk,
            axi_aresetn=running,
            usr_irq_req=self.irq,
            usr_irq_ack=self.irq_ack,
            **wires,
        )
        m.d.comb += self.user_reset.eq(~running)

    def place_on_bus(self, m: Module, name: str, ip: VendorIp, prefix: str = "", **wires) -> None:
        """Place a part of the interconnect, with the link's clock and reset."""
        clocks = {f"{prefix}aclk": self.user_clk, f"{prefix}aresetn": ~self.user_reset}
        m.submodules[name] = ip.place(**clocks, **wires)

    def decode(self, m: Module, bus) -> None:
        """Decode accesses to the registers of the design and of the board."""
        wires = bus_wires("s_axi_", bus) | bus_wires("m_axi_", *self.registers)
        self.place_on_bus(m, "decoder", self.decoder, **wires)


class PcieDma(RegisterLink):
    """Moves data between the host and memories here, beside registers (:class:`RegisterLink`).

    Byte addresses of DMA: HBM from 0, a model, if there is one, from MODEL_BASE on; others are
    answered by DECERR. ``hbm`` has bursts of up to 16 beats, ``model`` up to 256; both are answered
    in order, as ``model`` has no identifiers and those of ``hbm`` are 0.
    """

    def __init__(self, params: PcieParams) -> None:
        bus = pcie_ip.MEMORY_BUS
        regions = [(0, HBM_REGION)]
        if params.model_bits:
            regions.append((MODEL_BASE, max(LEAST_REGION, params.model_bits)))
        self.memories = axi_ip.crossbar("memory_decoder", bus, regions)
        self.narrow = axi_ip.width_converter("dma_width", bus, BEAT_BITS)
        self.beats = Axi4Signature(address_bits=bus.address_bits, data_bits=BEAT_BITS, id_bits=0)
        self.bursts = axi_ip.to_axi3("dma_bursts", self.beats)
        super().__init__(
            params,
            hbm=Out(Axi4Signature(address_bits=HBM_REGION, data_bits=BEAT_BITS)),
            **({"model": Out(self.beats)} if params.model_bits else {}),
        )
        self.vendor_ips = (
            pcie_ip.DMA,
            self.decoder,
            self.memories,
            self.narrow,
            self.bursts,
        )

    def build(self, m: Module) -> None:
        bus = pcie_ip.MEMORY_BUS
        registers = pcie_ip.REGISTER_BUS.create(path=("registers",))
        memory = bus.create(path=("memory",))
        beats = self.beats.create(path=("hbm_beats",))
        memories = {"hbm": beats} | ({"model": self.model} if self.params.model_bits else {})
        ways = {name: bus.create(path=(f"{name}_wide",)) for name in memories}
        short = axi_ip.Axi3Signature(address_bits=bus.address_bits, data_bits=BEAT_BITS).create(
            path=("hbm_short",)
        )
        self.place_link(
            m, pcie_ip.DMA, **bus_wires("m_axi_", memory), **bus_wires("m_axil_", registers)
        )
        self.decode(m, registers)
        self.place_on_bus(
            m,
            "memories",
            self.memories,
            **bus_wires("s_axi_", memory, extras=axi_ip.CROSSBAR_EXTRAS),
            **bus_wires("m_axi_", *ways.values()),
        )
        for name, path in ways.items():
            self.place_on_bus(
                m,
                f"{name}_width",
                self.narrow,
                "s_axi_",
                **bus_wires("s_axi_", path, extras=axi_ip.EXTRAS),
                **bus_wires("m_axi_", memories[name]),
            )
        self.place_on_bus(
            m,
            "hbm_bursts",
            self.bursts,
            **bus_wires("s_axi_", beats, extras=axi_ip.EXTRAS),
            **bus_wires("m_axi_", short),
        )
        connect_bus(m, short, self.hbm)


class PcieBridge(RegisterLink):
    """Offers registers (:class:`RegisterLink`), and host memory at its addresses through ``host``.

    Identifiers at ``host`` are 0, and what it answers is in order.
    """

    def __init__(self, params: PcieParams) -> None:
        bus = pcie_ip.MEMORY_BUS
        self.narrow = axi_ip.width_converter("register_width", bus, 32)
        self.words = Axi4Signature(address_bits=bus.address_bits, data_bits=32, id_bits=0)
        self.lite = axi_ip.to_lite("register_lite", self.words)
        host = In(Axi4Signature(address_bits=64, data_bits=pcie_ip.DATA_BITS))
        super().__init__(params, host=host)
        self.vendor_ips = (pcie_ip.BRIDGE, self.decoder, self.narrow, self.lite)

    def build(self, m: Module) -> None:
        bus = pcie_ip.MEMORY_BUS
        wide = bus.create(path=("registers_wide",))
        words = self.words.create(path=("register_words",))
        lite = AxiLiteSignature(address_bits=64).create(path=("registers_lite",))
        registers = pcie_ip.REGISTER_BUS.create(path=("registers",))
        host = bus.create(path=("host_ids",))
        unused = {
            f"s_axil_{name}": Const(0, len(Value.cast(getattr(registers, name))))
            for name, member in registers.signature.members.items()
            if member.flow == Out
        }
        self.place_link(
            m,
            pcie_ip.BRIDGE,
            **bus_wires("m_axib_", wide),
            **bus_wires("s_axib_", host, extras=pcie_ip.SLAVE_EXTRAS),
            **unused,
        )
        self.place_on_bus(
            m,
            "width",
            self.narrow,
            "s_axi_",
            **bus_wires("s_axi_", wide, extras=axi_ip.EXTRAS),
            **bus_wires("m_axi_", words),
        )
        self.place_on_bus(
            m,
            "lite",
            self.lite,
            **bus_wires("s_axi_", words, extras=axi_ip.EXTRAS),
            **bus_wires("m_axi_", lite),
        )
        self.decode(m, registers)
        connect_bus(m, lite, registers)
        connect_bus(m, self.host, host)
