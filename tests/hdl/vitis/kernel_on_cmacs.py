"""Surrounds a kernel with models of VNx's cmac kernels, so that it looks as its design alone."""

from typing import Any

from amaranth.hdl import ClockSignal, ResetSignal, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.common.component import Component
from hdl.common.packets import AXIS, BEAT, to_axis, to_stream
from hdl.common.params import Params
from hdl.common.stream_arbiter import StreamArbiter
from hdl.netsparse.kind_split import KindSplit
from hdl.vitis import kernels
from hdl.vitis.kernel import element
from sim.surroundings.cmac_kernel import CmacKernel

INNER = ("ap_clk", "ap_rst_n", "s_axi_control", "m_axis", "s_axis", "interrupt")


class KernelOnCmacsParams(Params, suffix="{kernel}_{design.suffix}"):
    """Says which kernel it is, and the sizes of its design."""

    kernel: str
    design: Any


class KernelOnCmacs(Component):
    """Has the ports of the kernel's design: ``s_axil``, AXI managers, and streams of packets.

    What leaves a cmac comes by ``m_axis`` or, by its class, by one of several; what comes by
    ``s_axis`` goes to the cmac. ``lost`` is high once a cmac has lost a beat.
    """

    def __init__(self, params: KernelOnCmacsParams) -> None:
        self.inner = getattr(kernels, params.kernel)(params.design)
        members = self.inner.signature.members
        self.outer = {name: member for name, member in members.items() if name not in INNER}
        super().__init__(
            params,
            **self.outer,
            s_axil=members["s_axi_control"],
            **{f"m_{s}": Out(AXIS).array(*self.inner.macs) for s in self.inner.streams},
            **{f"s_{s}": In(AXIS).array(*self.inner.macs) for s in self.inner.streams},
            **({"lost": Out(1)} if self.inner.streams else {}),
            **({"irq": Out(1)} if self.inner.kernel.requests else {}),
        )

    def build(self, m):
        m.submodules.inner = inner = self.inner
        running = Signal(reset_less=True)
        m.d.sync += running.eq(~ResetSignal())
        m.d.comb += [inner.ap_clk.eq(ClockSignal()), inner.ap_rst_n.eq(running)]
        connect(m, flipped(self.s_axil), inner.s_axi_control)
        if inner.kernel.requests:
            m.d.comb += self.irq.eq(inner.interrupt)
        for k in inner.ends():
            m.submodules[f"cmac_{k or 0}"] = cmac = CmacKernel()
            connect(m, element(inner.m_axis, k), cmac.s_axis)
            connect(m, cmac.m_axis, element(inner.s_axis, k))
            sent, come = (
                [element(getattr(self, f"{side}_{name}"), k) for name in inner.streams]
                for side in "ms"
            )
            self.add_link(m, k or 0, cmac, sent, come)
            with m.If(cmac.lost.any()):
                m.d.comb += self.lost.eq(1)
        lead_out(m, self.outer, inner, self)

    def add_link(self, m, k, cmac, sent, come):
        """Connect a cmac's link to streams of one class, or of several."""
        if len(sent) == 1:
            connect(m, cmac.to_link, flipped(sent[0]))
            connect(m, flipped(come[0]), cmac.of_link)
            return
        m.submodules[f"split_{k}"] = split = KindSplit()
        connect(m, cmac.to_link, split.mac)
        for source, sink in zip(split.o, sent, strict=True):
            connect(m, source, flipped(sink))
        m.submodules[f"arbiter_{k}"] = arbiter = StreamArbiter.sized(
            shape=BEAT, count=len(come), last_bit=BEAT["last"].offset
        )
        for source, sink in zip(come, arbiter.i, strict=True):
            to_stream(m, source, sink)
        to_axis(m, arbiter.o, cmac.of_link, arbiter.o.payload.payload)


def lead_out(m, members, inner, outer, prefix=""):
    """Connect ports of a part to those of ``outer`` whose names begin with ``prefix``."""
    for name, member in members.items():
        own, part = getattr(outer, prefix + name), getattr(inner, name)
        if member.is_port:
            m.d.comb += own.eq(part)
            continue
        for outside, inside in zip(own, part, strict=True) if member.dimensions else [(own, part)]:
            if member.flow == Out:
                connect(m, inside, flipped(outside))
            else:
                connect(m, flipped(outside), inside)
