"""Whether the virtual form is about to run out of queues or lines."""

from amaranth.hdl import Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.netsparse.concat.concatenator_params import (
    LINE_BYTES,
    SPARE_QUEUES,
    ConcatenatorParams,
)

SETTLING = 6  #: cycles until the lines of a packet that is marked count as marked


class Exhaustion(Component):
    """Raises ``force`` when the oldest packet is to be marked: NetSparse, section 7.2.

    Open packets leave ``SPARE_QUEUES`` queues and ``reserve`` lines, so that PRs go on while what
    is marked leaves. ``forced`` says that a packet is marked in this cycle because of it. Queues
    count at once. Lines count some cycles later, and no second packet is marked meanwhile.
    """

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            {
                "opens": In(1),
                "closes": In(1),
                "expires_now": In(1),
                "takes": In(1),  # a line
                "enters": In(1),  # the queue of marked packets
                "entering": In(params.mark),
                "force": Out(1),
                "forced": In(1),
            },
        )

    def elaborate(self, platform) -> Module:
        m = Module()
        params = self.params
        packets = Signal(bits_for(params.queues))  # that are open
        lines = Signal(bits_for(params.lines))  # of open packets
        gone = Signal(bits_for(params.packet_lines))
        settling = Signal(range(SETTLING + 1))
        few_lines = Signal()
        few_queues = Signal()
        after = Signal(bits_for(params.queues))
        m.d.comb += after.eq(
            (packets + self.opens - self.closes - self.expires_now)[: bits_for(params.queues)]
        )
        given = (self.entering.used + LINE_BYTES - 1) >> 7
        m.d.sync += [
            packets.eq(after),
            few_queues.eq(after > params.queues - SPARE_QUEUES),
            gone.eq(low_bits(Mux(self.enters, given, 0), len(gone))),
            lines.eq(lines + self.takes - gone),
            few_lines.eq((lines > params.lines - params.reserve) & (settling == 0)),
        ]
        with m.If(few_lines & self.forced):
            m.d.sync += [settling.eq(SETTLING), few_lines.eq(0)]
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
        m.d.comb += self.force.eq(few_queues | few_lines)
        return m
