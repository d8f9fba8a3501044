"""Has a small top for the U280: a core behind a crossing, two IPs, a few pins of each kind."""

from dataclasses import dataclass

from amaranth.hdl import ClockDomain, Const, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from gen.designs.design import Design
from hdl.common.axi import AxiLiteSignature, AxiReadSignature, AxiStreamSignature
from hdl.common.component import Component
from hdl.common.crossing.crossing import inside
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.common.registers import Register, RegisterMap, ro, rw
from hdl.u280.board import Clock
from hdl.u280.vendor import VendorIp, VendorPort


@dataclass(frozen=True, kw_only=True)
class CoreParams:
    engines: int = 2  #: read ports


def core_registers(params):
    return RegisterMap("sample_core", (Register("r", "One.", rw("f", 8, "bits")),))


def cage_registers(params):
    return RegisterMap("sample_board_status", (Register("r", "One.", ro("g", 8, "bits")),))


class Core(Component):
    register_map = staticmethod(core_registers)

    def __init__(self, params):
        super().__init__(
            params,
            s_axil=In(AxiLiteSignature(address_bits=8)),
            m_axi_words=Out(AxiReadSignature(address_bits=33, data_bits=256)).array(params.engines),
            m_axis=Out(AxiStreamSignature(data_bits=512)),
            s_axis=In(AxiStreamSignature(data_bits=512)),
            irq=Out(1),
        )

    def build(self, m):
        m.d.sync += self.irq.eq(~self.irq)
        connect(m, flipped(self.s_axis), flipped(self.m_axis))


@dataclass(frozen=True, kw_only=True)
class CageParams:
    pass


class Cage(Component):
    """Sends back what it is sent, when nothing is on the wire."""

    register_map = staticmethod(cage_registers)

    def __init__(self, params):
        axis = AxiStreamSignature(data_bits=512)
        super().__init__(params, sent=In(axis), taken=Out(axis))

    def build(self, m):
        connect(m, flipped(self.sent), flipped(self.taken))


CLOCKING = VendorIp(
    name="clocking",
    vlnv="xilinx.com:ip:clk_wiz:6.0",
    config=(("PRIM_IN_FREQ", "100.000"), ("CLKOUT1_REQUESTED_OUT_FREQ", "250 {really}")),
    ports=(
        VendorPort(name="clk_in1_p", direction="input"),
        VendorPort(name="clk_in1_n", direction="input"),
        VendorPort(name="reset", direction="input"),
        VendorPort(name="clk_out1", direction="output"),
        VendorPort(name="locked", direction="output"),
    ),
)
MAC = VendorIp(
    name="mac",
    vlnv="xilinx.com:ip:cmac_usplus:3.1",
    ports=(
        VendorPort(name="gt_txp_out", direction="output", bits=4),
        VendorPort(name="gt_ref_clk_p", direction="input"),
    ),
)


class SampleBoard(Component):
    """The address map: nothing at 0."""

    vendor_ips = (CLOCKING, MAC)
    primitives = ()
    core_mhz = 250.0
    clocks = (
        Clock(name="board", mhz=100.0, port="clk_100mhz_0_p"),
        Clock(name="mac_reference", mhz=161.1328125, port="qsfp0_mgt_refclk_1_p"),
        Clock(name="core", mhz=250.0, pin="clocking/clk_out1"),
    )

    def __init__(self, params):
        self.crossings = inside("reset", Synchroniser(SynchroniserParams()).crossings, {})
        super().__init__(
            params,
            clk_100mhz_0_p=In(1),
            clk_100mhz_0_n=In(1),
            pcie_reset_n=In(1),
            qsfp0_mgt_refclk_1_p=In(1),
            qsfp0_tx_p=Out(4),
            hbm_cattrip=Out(1),
        )

    def build(self, m):
        m.domains.sync = sync = ClockDomain("sync")
        locked = Signal()
        m.submodules.clocking = CLOCKING.place(
            clk_in1_p=self.clk_100mhz_0_p,
            clk_in1_n=self.clk_100mhz_0_n,
            reset=Const(0, 1),
            clk_out1=sync.clk,
            locked=locked,
        )
        m.submodules.mac = MAC.place(
            gt_txp_out=self.qsfp0_tx_p, gt_ref_clk_p=self.qsfp0_mgt_refclk_1_p
        )
        m.submodules.reset = reset = Synchroniser(SynchroniserParams())
        m.submodules.core = core = Core(self.params)
        m.submodules.cage = cage = Cage(CageParams())
        connect(m, core.m_axis, cage.sent)
        connect(m, cage.taken, core.s_axis)
        m.d.comb += self.hbm_cattrip.eq(locked & core.irq)
        m.d.comb += [reset.i.eq(~self.pcie_reset_n), sync.rst.eq(reset.o)]


DESIGN = Design(
    name="sample",
    about="a core that does nothing",
    component="tests.gen.board.sample:Core",
    params="tests.gen.board.sample:CoreParams",
    preset="",
)
