"""Detects that the virtual form is about to run out of queues or lines."""

from itertools import product

from amaranth.hdl import Cat, Module, Mux, Signal
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
    count at once. Lines count some cycles later, and no second packet is marked meanwhile. Both
    are told by a register.
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
        taken = Signal()
        enters = Signal()
        used = Signal.like(self.entering.used, reset_less=True)
        gone = Signal(bits_for(params.packet_lines))
        settling = Signal(range(SETTLING + 1))
        few_lines = Signal()
        few_queues = Signal()
        marks = Signal()  # a packet, because of lines
        # All sums are there and compared before it is known what happens, which is late.
        sums = [Signal.like(packets, name=f"after_{case}") for case in range(8)]
        for after, (expires, closes, opens) in zip(sums, product((0, 1), repeat=3), strict=True):
            m.d.comb += after.eq((packets + (opens - closes - expires))[: len(packets)])
        with m.Switch(Cat(self.opens, self.closes, self.expires_now)):
            for case, after in enumerate(sums):
                with m.Case(case):
                    m.d.sync += packets.eq(after)
                    m.d.comb += few_queues.eq(after > params.queues - SPARE_QUEUES)
        given = (used + LINE_BYTES - 1) >> 7
        short = (lines > params.lines - params.reserve) & (settling == 0) & ~marks
        m.d.comb += marks.eq(few_lines & self.forced)
        m.d.sync += [
            taken.eq(self.takes),
            enters.eq(self.enters),
            used.eq(self.entering.used),
            gone.eq(low_bits(Mux(enters, given, 0), len(gone))),
            lines.eq(lines + taken - gone),
            few_lines.eq(short),
            self.force.eq(few_queues | short),
        ]
        with m.If(marks):
            m.d.sync += settling.eq(SETTLING)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
        return m
