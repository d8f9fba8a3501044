"""Transfers a stream from one clock to another: an asynchronous FIFO with Gray-code pointers."""

from amaranth.hdl import Cat, DomainRenamer, Module, Mux, ResetSignal, Signal
from amaranth.lib import stream
from amaranth.lib.wiring import In, Out
from amaranth.utils import exact_log2

from hdl.common.component import Component
from hdl.common.crossing.crossing import Crossing, inside
from hdl.common.crossing.fifo_words import FifoWords, FifoWordsParams
from hdl.common.crossing.gray_crossing import GrayCrossing, GrayCrossingParams, gray
from hdl.common.crossing.reset_handshake import Flags, Side, advance, runs
from hdl.common.crossing.synchroniser import Synchroniser, SynchroniserParams
from hdl.common.output_lane import add_lanes
from hdl.common.params import whole
from hdl.common.shaped import ShapedParams


class AsyncFifoParams(ShapedParams, suffix="{width}x{depth}"):
    """Sets a beat's shape and the depth of an asynchronous FIFO."""

    #: words of memory; a LUT holds a bit of each
    depth: int = whole(4, 64, power_of_two=True, default=32)


class AsyncFifo(Component):
    """Passes beats from ``i`` in clock domain ``write`` to ``o`` in domain ``read``, in order.

    Throughput: a beat a cycle of the slower clock, with at least 16 words. Latency: ``o`` has a
    beat ``latency`` edges of ``read`` after the edge of ``write`` at which it has moved, or an edge
    later if that falls between. Full: ``i.ready`` goes low; it rises ``room_latency`` edges of
    ``write`` after the edge of ``read`` at which a word has left, or an edge later. ``i.ready`` and
    ``o`` are registers: pointers are compared a cycle ahead, and beats are registered in lanes
    (:class:`OutputLane`), each with an enable of its own.

    A reset of either domain empties both sides, however short or long it is, and however soon after
    another one. The side that was reset stops from the next cycle on, with ``i.ready`` or
    ``o.valid`` low. The other side goes on until the request reaches it: a reader still gets beats
    from before the reset, and the beats that a writer still sends are lost. Both start again,
    empty, when each knows that the other has cleared its pointer
    (:mod:`hdl.common.crossing.reset_handshake`). ``write_runs`` and ``read_runs`` are low from a
    side's stop to its start; beats that moved before the stop are lost, or are from before the
    reset.
    """

    domains = ("write", "read")
    constraint = "async_fifo"
    keeps_boundary = True
    latency = 4  #: edges: two of the synchroniser, ``some``, and the output's register
    room_latency = 3  #: edges: two of the synchroniser, and ``ready``

    def __init__(self, params: AsyncFifoParams) -> None:
        self.pointer = GrayCrossingParams(bits=exact_log2(params.depth) + 1)
        self.state = SynchroniserParams(shape=len(Flags._fields))
        far, back = {}, {"write": "read", "read": "write"}
        self.crossings = (
            Crossing(path="", constraint=self.constraint, source="write", target="read"),
            *inside("write_pointer", GrayCrossing(self.pointer).crossings, far),
            *inside("read_pointer", GrayCrossing(self.pointer).crossings, back),
            *inside("write_state", Synchroniser(self.state).crossings, {"sync": "read"}),
            *inside("read_state", Synchroniser(self.state).crossings, {"sync": "write"}),
        )
        super().__init__(
            params,
            i=In(stream.Signature(params.shape)),
            o=Out(stream.Signature(params.shape)),
            write_runs=Out(1),
            read_runs=Out(1),
        )

    def build(self, m: Module) -> None:
        bits = self.pointer.bits
        size = FifoWordsParams(width=self.params.width, depth=self.params.depth)
        m.submodules.words = words = FifoWords(size)
        m.submodules.write_pointer = write_pointer = GrayCrossing(self.pointer)
        m.submodules.read_pointer = read_pointer = DomainRenamer(
            {"write": "read", "read": "write"}
        )(GrayCrossing(self.pointer))
        write_runs, write_clear, read_runs, read_clear = self.add_resets(m)
        running = Signal()  # as late as ``ready``
        m.d.write += running.eq(write_runs)
        m.d.comb += [self.write_runs.eq(running), self.read_runs.eq(read_runs)]

        written = Signal(bits, reset_less=True)
        ready = Signal()
        room = Signal()
        more = (written + 1)[:bits]
        push = self.i.valid & ready
        # If the FIFO is full, the pointers' Gray codes differ in exactly the top two bits.
        full = read_pointer.seen ^ (3 << (bits - 2))
        fills = Mux(push, gray(more) == full, write_pointer.gray == full)
        m.d.comb += [
            self.i.ready.eq(ready),
            words.valid.eq(self.i.valid),
            words.room.eq(room),
            words.word.eq(self.i.payload),
            words.written.eq(written[:-1]),
            write_pointer.value.eq(Mux(write_clear, 0, Mux(push, more, written))),
        ]
        m.d.comb += room.eq(write_runs & ~fills)
        m.d.write += [written.eq(write_pointer.value), ready.eq(room)]

        taken = Signal(bits, reset_less=True)
        some = Signal()  # there is a word at ``taken``
        valid = Signal()
        next_ = (taken + 1)[:bits]
        advances = ~valid | self.o.ready
        pop = some & advances
        seen = write_pointer.seen
        empties = Mux(pop, gray(next_) == seen, read_pointer.gray == seen)
        m.d.comb += [
            words.taken.eq(taken[:-1]),
            read_pointer.value.eq(Mux(read_clear, 0, Mux(pop, next_, taken))),
            self.o.valid.eq(valid),
        ]
        m.d.read += [
            taken.eq(read_pointer.value),
            some.eq(read_runs & ~empties),
            valid.eq(read_runs & Mux(advances, some, 1)),
        ]
        add_lanes(m, words.o, self.o, some, runs=read_runs, domain="read")

    def add_resets(self, m: Module) -> tuple[Signal, ...]:
        """Add the handshake of resets; return runs and clear of ``write``, then those of ``read``.

        The rule is :mod:`hdl.common.crossing.reset_handshake`. No reset reaches its registers.
        """
        flags = {
            domain: Signal(len(Flags._fields), name=f"{domain}_flags", reset_less=True, init=0b011)
            for domain in self.domains
        }
        outcome = []
        for near, far in (("write", "read"), ("read", "write")):
            state = DomainRenamer(near)(Synchroniser(self.state))
            m.submodules[f"{far}_state"] = state
            m.d.comb += state.i.eq(flags[far])
            needs = Signal(name=f"{near}_needs", reset_less=True)
            side, remote = Side(needs, Flags(*flags[near])), Flags(*state.o)
            after = advance(side, remote, ResetSignal(near, allow_reset_less=True))
            m.d[near] += [needs.eq(after.needs), flags[near].eq(Cat(*after.flags))]
            side_runs = Signal(name=f"{near}_runs")
            m.d.comb += side_runs.eq(runs(side, remote))
            outcome += [side_runs, side.flags.cleared]
        return tuple(outcome)
