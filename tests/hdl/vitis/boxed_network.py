"""Connects workers to a P4SGD switch that is a plugin in OpenNIC's box."""

from amaranth.hdl import ClockDomain, ClockSignal, ResetSignal, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.opennic.box import mac_bit
from hdl.opennic.packet_measure import PacketMeasure, PacketMeasureParams
from hdl.opennic.packet_store import PacketStore, PacketStoreParams
from hdl.opennic.plugin import to_box
from hdl.opennic.plugins import P4sgdPlugin
from sim.p4sgd.surroundings.network import NetworkParams
from sim.surroundings.link import Link

STORE = PacketStoreParams(words=512, behind=PacketMeasure.latency)
RESET_AT = 8  #: cycle in which the shell resets the plugin by its reset pair


class BoxedNetwork(Component):
    """Has a link from and to each of two workers, and at each MAC what the shell's adapter does.

    That stores whole packets, so that it states their sizes, and drops damaged ones. The host has
    no packets, and takes all. ``s_axil`` leads to the switch's registers once ``mod_rst_done`` is
    high; the box's two clocks are one here.
    """

    def __init__(self, params: NetworkParams) -> None:
        super().__init__(
            params,
            from_workers=In(AXIS).array(params.workers),
            to_workers=Out(AXIS).array(params.workers),
            s_axil=In(params.axil),
            link=In(params.link.settings),
        )

    def build(self, m):
        m.domains += (axil := ClockDomain("axil", local=True))
        m.d.comb += [axil.clk.eq(ClockSignal()), axil.rst.eq(ResetSignal())]
        m.submodules.plugin = plugin = P4sgdPlugin(self.params.switch)
        connect(m, flipped(self.s_axil), plugin.s_axil_0)
        cycle = Signal(range(RESET_AT + 2))
        m.d.sync += cycle.eq(cycle + (cycle <= RESET_AT))
        m.d.comb += plugin.mod_rstn.eq(cycle != RESET_AT)
        for k in range(self.params.workers):
            m.submodules[f"up_{k}"] = up = Link(self.params.link)
            m.submodules[f"down_{k}"] = down = Link(self.params.link)
            m.d.comb += [up.index.eq(2 * k), down.index.eq(2 * k + 1)]
            m.d.comb += [up.settings.eq(self.link), down.settings.eq(self.link)]
            connect(m, flipped(self.from_workers[k]), up.i)
            connect(m, down.o, flipped(self.to_workers[k]))
            self.receive(m, k, up, plugin)
            sent = plugin.m_axis_tx[k]
            m.d.comb += [
                *(getattr(down.i, n).eq(getattr(sent, n)) for n in ("tdata", "tkeep", "tlast")),
                down.i.tvalid.eq(sent.tvalid),
                sent.tready.eq(down.i.tready),
                plugin.m_axis_c2h[k].tready.eq(1),
            ]

    def receive(self, m, k, up, plugin):
        """Store what a worker sends, and pass it to the plugin with its size."""
        m.submodules[f"measure_{k}"] = measure = PacketMeasure(PacketMeasureParams())
        m.submodules[f"store_{k}"] = store = PacketStore(STORE)
        connect(m, up.o, measure.axis)
        connect(m, measure.o, store.i)
        m.d.comb += [measure.room.eq(store.room), store.size.eq(measure.size)]
        to_box(m, store.o, store.o.payload, plugin.s_axis_rx[k], mac_bit(k), 0)
