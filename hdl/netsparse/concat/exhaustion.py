"""Detects that the virtual form is about to run out of queues or lines."""

from itertools import product

from amaranth.hdl import Array, Cat, Module, Mux, Signal
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.arithmetic import low_bits
from hdl.common.component import Component
from hdl.netsparse.concat.concatenator_params import (
    LINE_BYTES,
    SPARE_QUEUES,
    ConcatenatorParams,
)

#: change of the number of open packets if one opens (bit 0), closes (bit 1), expires (bit 2)
CHANGES = tuple(opens - closes - expires for expires, closes, opens in product((0, 1), repeat=3))
SETTLING = 6  #: cycles until the lines of a packet that is marked count as marked


class Exhaustion(Component):
    """Raises ``force`` when the oldest packet must be marked (NetSparse, section 7.2).

    It keeps ``SPARE_QUEUES`` queues and ``reserve`` lines free of open packets, so that PRs can
    enter while marked packets leave. ``forced`` says that a packet is marked in this cycle because
    of ``force``. Queues are counted at once. Lines are counted some cycles later, and no second
    packet is marked meanwhile. ``force`` is driven by registers.
    """

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            opens=In(1),
            closes=In(1),
            expires_now=In(1),
            takes=In(1),  # a line is taken
            enters=In(1),  # a packet enters the queue of marked packets
            entering=In(params.mark),
            force=Out(1),
            forced=In(1),
        )

    def build(self, m: Module) -> None:
        params = self.params
        packets = Signal(bits_for(params.queues))  # number of packets that were open a cycle ago
        lines = Signal(bits_for(params.lines))  # number of lines of open packets
        taken = Signal()
        enters = Signal()
        used = Signal.like(self.entering.used, reset_less=True)
        gone = Signal(bits_for(params.packet_lines))
        settling = Signal(range(SETTLING + 1))
        few_lines = Signal()
        few_queues = Signal()
        marks = Signal()  # a packet is marked because of lines
        # The events of this cycle come late, so they are counted in the next one, and now only
        # select among comparisons computed in advance.
        now, before = Cat(self.opens, self.closes, self.expires_now), Signal(3)
        m.d.sync += [
            before.eq(now),
            packets.eq((packets + before[0] - before[1] - before[2])[: len(packets)]),
        ]
        few = {more: packets > params.queues - SPARE_QUEUES - more for more in range(-4, 3)}
        few_after = Signal(8)  # for each combination of this cycle's events
        with m.Switch(before):
            for case, more in enumerate(CHANGES):
                with m.Case(case):
                    m.d.comb += few_after.eq(Cat(few[more + other] for other in CHANGES))
        m.d.comb += few_queues.eq(Array(few_after)[now])
        provided = (used + LINE_BYTES - 1) >> 7
        short = (lines > params.lines - params.reserve) & (settling == 0) & ~marks
        m.d.comb += marks.eq(few_lines & self.forced)
        m.d.sync += [
            taken.eq(self.takes),
            enters.eq(self.enters),
            used.eq(self.entering.used),
            gone.eq(low_bits(Mux(enters, provided, 0), len(gone))),
            lines.eq(lines + taken - gone),
            few_lines.eq(short),
            self.force.eq(few_queues | short),
        ]
        with m.If(marks):
            m.d.sync += settling.eq(SETTLING)
        with m.Elif(settling != 0):
            m.d.sync += settling.eq(settling - 1)
