"""Tracks the lines in which packets are stored: the free ones, and the links of a packet's."""

from amaranth.hdl import Array, Module, Mux, Signal, Value
from amaranth.lib.memory import Memory
from amaranth.lib.wiring import In, Out
from amaranth.utils import bits_for

from hdl.common.component import Component
from hdl.common.expectations import expect
from hdl.common.fifo import Fifo, FifoParams
from hdl.netsparse.concat.concatenator_params import ConcatenatorParams


class LinePool(Component):
    """Lists the free lines, and for every line the next one in its packet.

    ``line`` is a free line while ``free`` is not 0; ``takes`` takes it, and with ``links`` it
    becomes the successor of the line ``behind``. ``returns`` returns the line ``returned``.
    ``free`` is the number of lines that can be taken in consecutive cycles, up to the most that a
    PR may take. ``follower`` is the successor of the previous cycle's ``leader``, if ``step`` was
    high then, else unchanged.

    After a reset the lines are entered in the list one a cycle; returned lines have priority.
    """

    def __init__(self, params: ConcatenatorParams) -> None:
        super().__init__(
            params,
            line=Out(params.line_bits),
            free=Out(bits_for(params.pr_lines)),
            takes=In(1),
            links=In(1),
            behind=In(params.line_bits),
            returns=In(1),
            returned=In(params.line_bits),
            step=In(1),
            leader=In(params.line_bits),
            follower=Out(params.line_bits),
        )

    def build(self, m: Module) -> None:
        params = self.params
        sizes = FifoParams(shape=params.line_bits, depth=params.lines)
        m.submodules.fifo = fifo = Fifo(sizes)
        entered = Signal(bits_for(params.lines))  # number of lines that were entered in the list
        enters = Signal()
        m.d.comb += [
            enters.eq(~self.returns & (entered != params.lines)),
            fifo.i.valid.eq(self.returns | enters),
            fifo.i.payload.eq(entered[: params.line_bits]),
            self.line.eq(fifo.o.payload),
            fifo.o.ready.eq(self.takes),
        ]
        with m.If(self.returns):
            m.d.comb += fifo.i.payload.eq(self.returned)
        with m.If(enters):
            m.d.sync += entered.eq(entered + 1)
        # A line counts when it can be at the list's output.
        counts = fifo.i.valid
        for step in range(1, sizes.latency):
            later = Signal(name=f"counts_{step}")
            m.d.sync += later.eq(counts)
            counts = later
        count = Signal(bits_for(params.lines))  # number of all free lines
        most, width = params.pr_lines, len(self.free)
        with m.If(counts & ~self.takes):
            m.d.sync += [
                count.eq(count + 1),
                self.free.eq(Mux(count < most, (count + 1)[:width], most)),
            ]
        with m.If(self.takes & ~counts):
            m.d.sync += [
                count.eq(count - 1),
                self.free.eq(Mux(count <= most, (count - 1)[:width], most)),
            ]
        m.submodules.followers = followers = Memory(
            shape=params.line_bits, depth=params.lines, init=[]
        )
        write, read = followers.write_port(), followers.read_port()
        m.d.comb += [
            write.addr.eq(self.behind),
            write.data.eq(self.line),
            write.en.eq(self.takes & self.links),
            read.addr.eq(self.leader),
            read.en.eq(self.step),
            self.follower.eq(read.data),
        ]
        expect(
            m,
            self,
            takes_what_is_free=lambda: ~self.takes | (self.free != 0),
            returns_what_was_taken=lambda: self.returns_what_was_taken(m),
        )

    def returns_what_was_taken(self, m: Module) -> Value:
        """Return whether every line is returned only once."""
        taken = Signal(self.params.lines)
        with m.If(self.takes):
            m.d.sync += taken.bit_select(self.line, 1).eq(1)
        with m.If(self.returns):
            m.d.sync += taken.bit_select(self.returned, 1).eq(0)
        exists = self.returned < self.params.lines
        return ~self.returns | (exists & Array(taken)[self.returned])
