"""Connects a switch of AllReduces of many numbers to hosts, by links at the line's rate."""

from dataclasses import field

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out, connect, flipped

from hdl.allreduce.registers import switch_registers
from hdl.allreduce.switch import AllReduceSwitch
from hdl.allreduce.switch_params import AllReduceSwitchParams
from hdl.common.arithmetic import count_ones
from hdl.common.axi import AxiLiteSignature
from hdl.common.component import Component
from hdl.common.packets import AXIS
from hdl.common.params import Params, whole
from sim.surroundings.link import Link, LinkParams

LINE_BYTES = 50  #: bytes a cycle: 100 Gb/s at 250 MHz
BETWEEN = 24  #: bytes on the line beside a frame: checksum, preamble and gap


class PaceParams(Params, suffix="{bytes}"):
    """Sets the bytes that a line carries in a cycle."""

    bytes: int = whole(1, 1 << 16, default=LINE_BYTES)


class LinePace(Component):
    """Passes packets on no faster than a line carries them; their beats may be faster.

    Latency: none. A packet begins when the line has had time for those before it.
    """

    def __init__(self, params: PaceParams) -> None:
        super().__init__(params, i=In(AXIS), o=Out(AXIS))

    def build(self, m: Module) -> None:
        i, o = self.i, self.o
        owed, inside = Signal(20), Signal()  # bytes that the line has still to send
        may = inside | (owed < self.params.bytes)
        moves = o.tvalid & o.tready
        connect(m, flipped(i), flipped(o))
        m.d.comb += [o.tvalid.eq(i.tvalid & may), i.tready.eq(o.tready & may)]
        size = (count_ones([*i.tkeep]) + Mux(i.tlast, BETWEEN, 0))[:8]
        total = owed + Mux(moves, size, 0)
        carried = self.params.bytes
        m.d.sync += owed.eq(Mux(total > carried, total - carried, 0)[: len(owed)])
        with m.If(moves):
            m.d.sync += inside.eq(~i.tlast)


class NetworkParams(Params, suffix="{switch.suffix}_{link.suffix}_{pace.suffix}"):
    """Sets the sizes of a network."""

    switch: AllReduceSwitchParams
    pace: PaceParams = field(default_factory=PaceParams)
    link: LinkParams = field(default_factory=lambda: LinkParams(depth=512))


class AllReduceNetwork(Component):
    """Connects hosts to a switch: each by a :class:`LinePace` and a link in either direction."""

    def __init__(self, params: NetworkParams) -> None:
        count, bits = params.switch.ports, switch_registers(params.switch).address_bits
        super().__init__(
            params,
            from_hosts=In(AXIS).array(count),
            to_hosts=Out(AXIS).array(count),
            s_axil=In(AxiLiteSignature(address_bits=bits)),
            link=In(params.link.settings),
        )

    def build(self, m: Module) -> None:
        m.submodules.switch = switch = AllReduceSwitch(self.params.switch)
        connect(m, flipped(self.s_axil), switch.s_axil)
        for k in range(self.params.switch.ports):
            ends = (self.from_hosts[k], switch.s_axis[k]), (switch.m_axis[k], self.to_hosts[k])
            for index, (start, end) in enumerate(ends, start=2 * k):
                m.submodules[f"pace_{index}"] = pace = LinePace(self.params.pace)
                m.submodules[f"link_{index}"] = link = Link(self.params.link)
                connect(m, start if index % 2 else flipped(start), pace.i)
                connect(m, pace.o, link.i)
                connect(m, link.o, flipped(end) if index % 2 else end)
                m.d.comb += [link.settings.eq(self.link), link.index.eq(index)]
